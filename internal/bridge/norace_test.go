//go:build !race

package bridge

const raced = false
