package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sort"
	"strings"
	"time"
)

// sample is what a name node has counted at a time.
type sample struct {
	at    time.Time
	calls map[string]int64 // by the method of the protocol, "files renamed" and the like beside them
}

// counted are the counters of the name node's work that are reported, apart from calls.
var counted = map[string]string{"FilesCreated": "files and directories created", "FilesRenamed": "files renamed", "FilesDeleted": "files deleted"}

// fromDataNodes are calls that no client makes; those that files cause are reported apart.
var fromDataNodes = map[string]bool{"SendHeartbeat": true, "RegisterDatanode": true, "VersionRequest": true, "BlockReport": true,
	"BlockReceivedAndDeleted": true, "CommitBlockSynchronization": true, "ErrorReport": true, "ReportBadBlocks": true, "SendLifeline": true, "CacheReport": true}

// nameNode samples a name node's metrics each half second: they come by HTTP and add nothing to what is counted.
func nameNode(ctx context.Context, addr string) (stop func() ([]sample, error)) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	var (
		list   []sample
		failed error
	)
	go func() {
		defer close(done)
		for {
			s, err := sampled(ctx, addr)
			if err == nil {
				list = append(list, s)
			} else if ctx.Err() == nil {
				failed = err
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(500 * time.Millisecond):
			}
		}
	}()
	return func() ([]sample, error) {
		cancel()
		<-done
		return list, failed
	}
}

func sampled(ctx context.Context, addr string) (sample, error) {
	s := sample{calls: map[string]int64{}}
	for _, name := range []string{"RpcDetailedActivityForPort*", "NameNodeActivity"} {
		var beans struct {
			Beans []map[string]json.RawMessage `json:"beans"`
		}
		if err := get(ctx, "http://"+addr+"/jmx?qry=Hadoop:service=NameNode,name="+name, &beans); err != nil {
			return s, err
		}
		for _, bean := range beans.Beans {
			for k, v := range bean {
				method, ok := strings.CutSuffix(k, "NumOps")
				if name == "NameNodeActivity" {
					method, ok = counted[k], counted[k] != ""
				}
				var n int64
				if strings.HasPrefix(method, "Overall") || strings.HasPrefix(method, "Deferred") {
					continue // the same calls by another clock
				}
				if ok && json.Unmarshal(v, &n) == nil {
					s.calls[method] += n
				}
			}
		}
	}
	s.at = time.Now()
	return s, nil
}

func get(ctx context.Context, url string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	r, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("asking the name node for its metrics: %w", err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(b, into)
	}
	if err != nil {
		return fmt.Errorf("reading the name node's metrics: %w", err)
	}
	return nil
}

// rpcs are a name node's calls per commit.
type rpcs struct {
	Counted   int                `json:"rpc_commits,omitempty"`
	Total     float64            `json:"rpcs_per_commit,omitempty"` // of clients
	Files     float64            `json:"files_created_per_commit,omitempty"`
	PerCommit map[string]float64 `json:"rpcs_per_commit_by_kind,omitempty"`
}

// between takes the samples in the middle of the gaps behind the first and the last commit, so that it counts whole commits.
func between(list []sample, commits []int64) rpcs {
	if len(commits) < 3 || len(list) == 0 {
		return rpcs{}
	}
	middle := func(i int) sample {
		at := (commits[i] + commits[i+1]) / 2
		return list[min(sort.Search(len(list), func(k int) bool { return list[k].at.UnixMilli() >= at }), len(list)-1)]
	}
	n := len(commits) - 2
	first, last := middle(0), middle(n)
	r := rpcs{Counted: n, PerCommit: map[string]float64{}}
	for k, v := range last.calls {
		d := float64(v-first.calls[k]) / float64(n)
		switch {
		case d == 0 || k == "SendHeartbeat":
			continue
		case k == "Create":
			r.Files, r.Total = d, r.Total+d
		case !fromDataNodes[k] && !strings.Contains(k, " "):
			r.Total += d
		}
		r.PerCommit[k] = d
	}
	return r
}
