// Command workload is what runs in the pods of the tests. As `pause` it holds the namespaces of a pod; `workload sleep 2.5` sleeps, for
// preStop hooks, `workload get URL` prints what a server there says; else it is an HTTP server that prints what happens to it: its start, each SIGTERM, its end.
//
//	TERM_SECONDS    how long it goes on after SIGTERM; `never`: it ignores SIGTERM and has to be killed
//	READY_SECONDS   how long it takes until /ready says 200
//	DATA            a folder: what it prints goes to the file life there as well
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

func seconds(text string) time.Duration {
	if text == "" {
		return 0
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		fail(err)
	}
	return time.Duration(n * float64(time.Second))
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "workload:", err)
	os.Exit(1)
}

func say(what string) {
	line := fmt.Sprintf("%s %s\n", time.Now().UTC().Format("2006-01-02T15:04:05.000Z"), what)
	fmt.Print(line)
	data := os.Getenv("DATA")
	if data == "" {
		return
	}
	file, err := os.OpenFile(filepath.Join(data, "life"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		fail(err)
	}
	defer file.Close()
	if _, err := file.WriteString(line); err != nil {
		fail(err)
	}
}

// pause waits for SIGTERM, and for children that have lost their parent.
func pause(ended <-chan os.Signal) {
	children := make(chan os.Signal, 8)
	signal.Notify(children, syscall.SIGCHLD)
	for {
		select {
		case <-children:
			for {
				if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); pid <= 0 || err != nil {
					break
				}
			}
		case <-ended:
			return
		}
	}
}

func serve(since time.Time) {
	http.HandleFunc("/ready", func(w http.ResponseWriter, _ *http.Request) {
		if time.Since(since) < seconds(os.Getenv("READY_SECONDS")) {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	http.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		host, _ := os.Hostname()
		fmt.Fprintln(w, host)
	})
	fail(http.ListenAndServe(":8080", nil))
}

func get(url string) {
	client := http.Client{Timeout: 2 * time.Second}
	response, err := client.Get(url)
	if err != nil {
		fail(err)
	}
	defer response.Body.Close()
	if _, err := io.Copy(os.Stdout, response.Body); err != nil {
		fail(err)
	}
}

func main() {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM, syscall.SIGINT)
	if filepath.Base(os.Args[0]) == "pause" {
		pause(ended)
		return
	}
	if len(os.Args) == 3 && os.Args[1] == "sleep" {
		time.Sleep(seconds(os.Args[2]))
		return
	}
	if len(os.Args) == 3 && os.Args[1] == "get" {
		get(os.Args[2])
		return
	}
	// When a node shuts down, whoever reads its output may be gone before it: a broken pipe is no reason to end without a word.
	signal.Ignore(syscall.SIGPIPE)
	say("started")
	go serve(time.Now())
	after := os.Getenv("TERM_SECONDS")
	for range ended {
		say("SIGTERM")
		if after != "never" {
			break
		}
	}
	time.Sleep(seconds(after))
	say("ended")
}
