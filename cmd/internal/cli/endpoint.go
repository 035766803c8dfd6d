package cli

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Endpoint is the HTTP endpoint; a nil one serves nothing.
type Endpoint struct {
	http *http.Server
	done chan error
}

// Listen opens addr, so that one that can't be had ends the program before it begins; nil when addr is empty.
func Listen(addr string) (net.Listener, error) {
	if addr == "" {
		return nil, nil
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("--listen %s: %w: %w", addr, err, ErrUsage)
	}
	return l, nil
}

// Serve serves metrics, health and profiles on l, which it closes in the end; nothing when l is nil. ready tells why the program
// is not ready yet.
func Serve(l net.Listener, metrics prometheus.Collector, ready func() error, log *slog.Logger) *Endpoint {
	if l == nil {
		return nil
	}
	r := prometheus.NewRegistry()
	r.MustRegister(metrics, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(r, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := ready(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	e := &Endpoint{http: &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}, done: make(chan error, 1)}
	go func() { e.done <- e.http.Serve(l) }()
	log.Info("listening", "address", l.Addr().String())
	return e
}

// Close ends the endpoint and waits for it.
func (e *Endpoint) Close() error {
	if e == nil {
		return nil
	}
	err := e.http.Close()
	if serr := <-e.done; !errors.Is(serr, http.ErrServerClosed) {
		err = errors.Join(err, serr)
	}
	return err
}

// Value is one metric at the time of asking.
type Value struct {
	name, help string
	kind       prometheus.ValueType
	value      float64
}

// Gauge is a value that goes up and down.
func Gauge(name, help string, v float64) Value { return Value{name, help, prometheus.GaugeValue, v} }

// Counter is a value that only grows.
func Counter(name, help string, v float64) Value {
	return Value{name, help, prometheus.CounterValue, v}
}

// Collect hands the values over under one set of labels.
func Collect(ch chan<- prometheus.Metric, labels prometheus.Labels, values []Value) {
	for _, v := range values {
		ch <- prometheus.MustNewConstMetric(prometheus.NewDesc(v.name, v.help, nil, labels), v.kind, v.value)
	}
}
