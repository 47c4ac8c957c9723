package catalog

import (
	"slices"
	"strings"
	"sync"
)

// concepts are words that people use for one another when they ask for a tool, a line for each meaning. A word may
// stand in several lines; it then means what is in any of them, and nothing beyond. Words of many meanings stay out
// of the lines where theirs is the rarer one. The lines follow the language of software and of everyday errands, and
// not one set of servers; Chinese is here because many servers describe their tools in it.
const concepts = actions + things + errands + chinese

const actions = `
create make new build generate produce compose 创建 生成 新建
create add insert append open register 添加 插入
generate draw plot render visualize
delete remove drop erase destroy clear discard uninstall 删除
get fetch retrieve read obtain download load pull 获取 读取 下载
get show view display list see tell enumerate print browse 列表 显示
open read load view
search find lookup query look discover locate seek explore 搜索 查询 查找
get find search
update edit change modify set alter adjust revise patch 修改 更新 编辑
replace substitute swap 替换
save write store persist keep record 保存 写入
write edit add append compose put
write create
fill type enter input write
export save convert
run execute start launch invoke trigger perform 运行 执行
start begin open
stop kill end terminate cancel abort quit 停止
close finish complete done
send post publish submit share message notify 发送 发布
reply answer respond comment
copy duplicate clone replicate 复制
move rename relocate transfer 移动
convert transform translate turn change 转换
merge combine join concatenate unite 合并
split divide separate 拆分
compare diff difference differ contrast versus 比较
calculate compute evaluate arithmetic math calculator sum 计算
calculate estimate
analyze analysis examine inspect assess evaluate investigate 分析
summarize summary digest overview 总结 摘要
recommend suggest recommendation suggestion advice advise choose pick 推荐
upload attach import 上传
validate verify check lint 验证
schedule plan reserve
allow permit grant approve accept authorize
deny reject refuse forbid block revoke
connect attach relate
assign allocate
sort order rank arrange
filter select
monitor watch observe
login authenticate signin
encrypt protect password lock secure
translate language 翻译
explain describe meaning definition define understand
remember memory note knowledge recall
think reason thinking reasoning
`

const things = `
picture image photo photograph 图片 图像
image png jpg svg
screenshot capture snapshot 截图
canvas drawing painting paint draw
document doc docx word 文档
file path 文件
folder directory 目录
spreadsheet excel xlsx sheet workbook worksheet 表格
table rows columns
powerpoint ppt pptx presentation slide deck slideshow 幻灯
web website site internet online 网站
page webpage website html url 网页
url link
chart graph plot diagram figure 图表
diagram flowchart schema
repository repo project 仓库
pr pull merge
issue bug ticket problem
message chat dm conversation 消息
mail email inbox gmail
channel room
user account member person people profile 用户
user player
team squad group
company business firm corporation
customer client contact lead
database db sql postgres mysql sqlite 数据
table schema
code source program script snippet example 代码
code example sample
package library dependency module 依赖
library documentation docs manual reference guide tutorial
component widget ui button element 组件
container docker image
cluster kubernetes k8s pod
deploy release rollout
version release tag 版本
newest latest recent new current
changes changelog history update 日志
log logs output
process task job
todo task checklist 任务
note memo annotation 笔记
event meeting appointment calendar 日程
comment remark feedback
text content string body 文本 内容
text character letter
title heading header caption 标题
paragraph text sentence content
browser page tab
click press tap push
field input form box textbox
key secret token credential
vulnerability security cve advisory
size bytes length weight
domain host dns hostname
owner whois registrant
permission access role right
setting configuration config option preference 设置
metric statistic stat measure number
license licence
ai llm gpt model 人工
`

const errands = `
cost price value worth rate quote quotation 价格
stock share ticker equity symbol 股票
invest investment finance financial market trading
income earnings revenue profit
cashflow cash flow
dividend payout
currency exchange forex money euro dollar yen pound
crypto cryptocurrency coin bitcoin btc ethereum eth blockchain token
gold silver metal asset commodity
news headline story article 新闻 资讯
blog post article
trend trending hot popular rank ranking top leaderboard 热榜 热门 趋势
technology tech 科技
electronics digital gadget device hardware 数码
product goods item 产品
buy purchase shop shopping deal
paper article preprint publication literature journal
research study science scientific academic
medicine medical biomedical clinical health disease patient drug
trial study
gene genetic genome variant mutation
cancer tumor oncology
random lottery raffle dice roll
sample choice choose pick
weather forecast temperature climate rain warm cold sunny wind 天气
address location place 地址 位置
coordinate latitude longitude geocode coordinates
map geographic geography geospatial 地图
near nearby around surrounding close neighborhood
route direction navigation path way
commute drive walk bike cycling driving walking
parking park
trip travel tour journey itinerary visit
attraction sight tourist interest
restaurant cafe food
hotel homestay lodging accommodation rental airbnb apartment flat stay
train rail railway 火车
ticket booking reservation
flight plane airline
station stop 车站
food recipe dish meal cook cooking dinner lunch eat menu 菜谱
ingredient recipe
time date clock hour now today timezone 时间
today current now
yesterday history historical past previous
song music audio track sound 音乐
tempo beat rhythm bpm
video movie film youtube
subtitle caption transcript
game match 游戏
player summoner
champion character hero 角色
card cards 卡牌
museum art artwork painting exhibit
job career position vacancy
city town 城市
country nation
government public
survey dataset data statistics
encyclopedia wikipedia wiki article
`

// chinese is for tools that describe themselves in it: a line gives a word's English ones. Words of more than two
// characters are found by the pairs they are made of.
const chinese = `
查看 显示 show view get
查询 查找 检索 搜索 query find search lookup get
列出 列表 清单 list
添加 增加 add insert
修改 更改 编辑 edit change update
打开 open
关闭 close
启动 运行 执行 run start execute
下载 download
上传 upload
导出 export
导入 import
转换 转化 convert
合并 merge combine
拆分 分割 split
对比 比较 compare
统计 statistics count
翻译 translate
预订 预定 book reserve
购买 购物 buy shop purchase
出售 销售 sell
推荐 建议 recommend suggest
识别 检测 detect recognize
发送 send
回复 reply
评论 评测 review comment
分享 share
收藏 favorite bookmark
订阅 subscribe
登录 login
注册 register
支付 付款 pay payment
信息 资料 info information
详情 详细 detail details
内容 content
消息 信息 message
新闻 快讯 资讯 news
热点 热门 热搜 热榜 trending hot popular top
榜单 排行 排名 rank ranking top best
科技 技术 technology tech
数码 电子 electronics digital gadget device
商业 公司 企业 business company
财经 金融 经济 finance economy financial
股票 stock share
基金 fund
汇率 exchange rate
货币 currency
投资 invest investment
价格 price cost
优惠 折扣 deal discount
商品 产品 product goods item
消费 consumer shopping
政治 时政 politics
国际 全球 international world global
社会 society social
体育 赛事 比赛 sports match
娱乐 明星 entertainment celebrity
电影 影视 movie film
音乐 歌曲 music song
视频 video
动画 动漫 anime animation cartoon
游戏 game gaming
玩家 player
角色 人物 character hero
技能 skill ability
攻略 guide strategy build
阅读 read reading
书籍 图书 小说 book novel
文章 article
教程 tutorial
教育 education
学习 learn study
健康 health
医疗 医院 medical hospital
天气 气温 weather temperature
地图 map
地址 位置 地点 address location place
城市 city
国家 country
旅游 旅行 travel trip
酒店 hotel
景点 attraction sight
火车 列车 车次 高铁 train railway
车票 余票 票价 ticket fare
车站 站点 station stop
中转 换乘 transfer interline
航班 机票 flight plane
出发 departure
到达 arrival arrive
日期 date
今天 当前 today current now
时间 时刻 time
日历 黄历 calendar almanac
农历 阴历 lunar
公历 阳历 solar gregorian
生日 birthday birth
性别 gender sex
八字 命理 fortune horoscope
菜谱 食谱 做法 recipe cook
食材 ingredient
早餐 breakfast
晚餐 dinner
膳食 饮食 meal food diet
过敏 忌口 allergy avoid
图片 图像 照片 image picture photo
文件 file
目录 文件夹 folder directory
路径 path
文档 document docs
幻灯 演示 slide presentation
表格 table spreadsheet
图表 chart graph
代码 code
示例 例子 example sample
组件 component
接口 api interface
网页 webpage page
网站 website
链接 link url
标题 title heading
摘要 summary abstract
关键 keyword key
名称 名字 name
编号 number id
数量 count number amount
大小 size
格式 format
用户 user
账号 账户 account
密码 password
数据 data
数据库 database
日志 changelog log history
错误 error
设置 配置 setting config
版本 version
项目 project repository
任务 task todo
日程 schedule event
会议 meeting
邮件 邮箱 mail email
卡牌 卡片 card
效果 effect
问答 问题 question answer
知识 knowledge
记忆 memory
笔记 note
思考 think reasoning
`

// fileKinds says what a file is by how its name ends.
const fileKinds = `
doc docx odt rtf: word document
xls xlsx ods: excel spreadsheet sheet
ppt pptx odp: powerpoint presentation slide
pdf: document
md markdown: markdown text
txt log text bib tex rst ini cfg conf yaml yml toml env: text
csv tsv: table data
json xml: data
png jpg jpeg gif webp svg bmp tiff: image
wav mp3 flac ogg m4a: audio
mp4 mkv mov avi webm: video
htm html: html page
py js ts tsx jsx go rs java c cpp h rb php sh sql: code
zip tar gz 7z: archive
`

// synonyms holds, for a stem, the stems it stands beside in concepts.
var synonyms = sync.OnceValue(func() map[string][]string {
	beside := map[string][]string{}
	for line := range strings.Lines(concepts) {
		group := words(line)
		for _, a := range group {
			for _, b := range group {
				if a != b && !slices.Contains(beside[a], b) {
					beside[a] = append(beside[a], b)
				}
			}
		}
	}
	return beside
})

// kindsOfFile holds, for the ending of a file's name, the stems of what such a file is.
var kindsOfFile = sync.OnceValue(func() map[string][]string {
	kinds := map[string][]string{}
	for line := range strings.Lines(strings.TrimSpace(fileKinds)) {
		endings, kind, _ := strings.Cut(line, ":")
		for _, ending := range strings.Fields(endings) {
			kinds[ending] = append(words(ending), words(kind+" file")...)
		}
	}
	return kinds
})
