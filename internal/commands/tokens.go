package commands

import "math"

// ownTokens is what codemode's one tool takes, in o200k: the 149 of its definition, counted with gpt-tokenizer 2026-11,
// and what clients put around it.
const ownTokens = 170

// bytesPerToken is how long a token of tool definitions is, in o200k: 527 tools of 70 real servers, in JSON, have 4.28
// bytes for each of their 85,540 tokens. A server's sum is off by 7 % on average, and by 28 % at most.
const bytesPerToken = 4.28

// tokens is about how many tokens a text has. A tokenizer would be exact for one model, and larger than all the rest of
// this program but Python.
func tokens(text string) int { return int(math.Round(float64(len(text)) / bytesPerToken)) }
