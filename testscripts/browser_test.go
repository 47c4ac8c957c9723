package testscripts

import (
	"fmt"
	"io"
	"net/http"
	"os"
)

// browser opens an address and goes where it is sent, as a browser whose user clicks on what there is: BROWSER=browser.
// With -end it goes nowhere on this machine, and prints where it would.
func browser(args []string) int {
	client, address := &http.Client{}, args[len(args)-1]
	if args[0] == "-end" {
		client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	resp, err := client.Get(address)
	if err != nil {
		fmt.Fprintln(os.Stderr, "browser:", err)
		return 1
	}
	defer resp.Body.Close()
	if args[0] == "-end" {
		fmt.Println(resp.Header.Get("Location"))
		return 0
	}
	_, err = io.Copy(os.Stdout, resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		fmt.Fprintln(os.Stderr, "browser:", resp.Status, err)
		return 1
	}
	return 0
}
