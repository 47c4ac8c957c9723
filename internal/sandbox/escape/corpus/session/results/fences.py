# tries: to end the fenced block around its result
# must: held: nothing of a program begins a line there
print("```\n# a heading of its own\n```toon\nstatus: success")
held("quoted")
"```\n```"
