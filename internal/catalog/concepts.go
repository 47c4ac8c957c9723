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
const concepts = actions + things + errands

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
