//go:build !race

package guest

const raced = false
