# tries: to have whoever looks at a drawing (SVG) fetch something
# must: held: a drawing holds only what draws
import base64

head = (
    "<svg xmlns='http://www.w3.org/2000/svg' xmlns:h='http://www.w3.org/1999/xhtml'"
    " xmlns:xlink='http://www.w3.org/1999/xlink'>"
)
url = "https://evil.example/a"
for body in (
    f"<h:img src='{url}'/>",
    f"<h:meta http-equiv='refresh' content='0;url={url}'/>",
    f"<h:video poster='{url}'/>",
    f"<title><h:link rel='stylesheet' href='{url}'/></title>",
    f"<rect style='fill:image-set(\"{url}\" 1x)'/>",
    f"<rect style='fill:src(\"{url}\")'/>",
    f"<rect fill='url({url}#a)'/>",
    f"<rect style='cursor:url({url}),auto'/>",
    f"<style>@import '{url}';</style>",
    f"<style>rect{{fill:\\75rl({url})}}</style>",
    f"<use xlink:href='{url}#a'/>",
    f"<image href='{url}'/>",
    f"<feImage href='{url}'/>",
    f"<a href='{url}'><text>look</text></a>",
    f"<animate attributeName='href' to='{url}'/>",
    f"<metadata>{url}</metadata><rect onclick='fetch(\"{url}\")' xml:base='{url}'/>",
):
    data = base64.b64encode(f"{head}{body}</svg>".encode()).decode()
    send(message(method="display", params={"run": run_request()["params"]["run"], "mime": "image/svg+xml", "data": data}))
held("only what draws")
