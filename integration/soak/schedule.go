package soak

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// Fault is something that goes wrong at some moment, and for how long.
type Fault struct {
	At     time.Duration // since the start
	Kind   Kind
	Target int           // which of several: a sink, a datanode
	Hold   time.Duration // until it is mended; 0: it happens at once and mends itself
}

// Ends is when the fault is mended.
func (f Fault) Ends() time.Duration { return f.At + f.Hold }

func (f Fault) String() string {
	s := fmt.Sprintf("%7.1fs  %s", f.At.Seconds(), f.Kind)
	if f.Kind.targets() > 1 {
		s += fmt.Sprintf(" %d", f.Target)
	}
	if f.Hold > 0 {
		s += fmt.Sprintf(" for %.1fs", f.Hold.Seconds())
	}
	return s
}

// Kind is a kind of fault.
type Kind string

// What can happen.
const (
	KillSink      Kind = "kill -9 of sink"
	FreezeSink    Kind = "SIGSTOP of sink"
	KillCompactor Kind = "kill -9 of the compactor"
	TermSink      Kind = "SIGTERM of sink"

	MySQLRestart Kind = "MySQL restart"
	MySQLKill    Kind = "kill -9 of MySQL"
	MySQLRotate  Kind = "binlog rotation"
	MySQLSlow    Kind = "MySQL answers 200 ms later"
	MySQLCut     Kind = "MySQL connections cut"
	MySQLDown    Kind = "MySQL refuses connections"
	MySQLLost    Kind = "MySQL's answers are lost"
	MySQLHole    Kind = "MySQL swallows everything"

	DataKill   Kind = "kill -9 of datanode"
	DataFreeze Kind = "SIGSTOP of datanode"
	DataCut    Kind = "connections to datanode cut"
	DataLost   Kind = "answers are lost of datanode"
	DataSlow   Kind = "50 ms later answers datanode"

	NameRestart  Kind = "namenode restart"
	NameKill     Kind = "kill -9 of the namenode"
	NameFreeze   Kind = "SIGSTOP of the namenode"
	NameFailover Kind = "fail-over of the namenode"
	NameCut      Kind = "namenode connections cut"
	NameDown     Kind = "namenode refuses connections"
	NameLost     Kind = "namenode's answers are lost"
	NameSlow     Kind = "namenode answers 200 ms later"

	StoreKill Kind = "kill -9 of the S3 server"
	StoreCut  Kind = "S3 connections cut"
	StoreDown Kind = "S3 refuses connections"
	StoreLost Kind = "S3's answers are lost"
	StoreSlow Kind = "S3 answers 200 ms later"
)

// rule says how a kind is drawn.
type rule struct {
	weight  int
	targets int
	part    string // at most one fault of a part is in force at a time
	hold    [2]time.Duration
	rest    time.Duration // until the part may be hit again after it was mended: what takes long to come up
}

const s = time.Second

var rules = map[Kind]rule{
	KillSink:      {12, 3, "sink", [2]time.Duration{}, 0},
	FreezeSink:    {3, 3, "sink", [2]time.Duration{2 * s, 12 * s}, 0},
	TermSink:      {3, 3, "sink", [2]time.Duration{}, 0},
	KillCompactor: {8, 1, "compactor", [2]time.Duration{}, 0},

	MySQLRestart: {2, 1, "mysql", [2]time.Duration{}, 15 * s},
	MySQLKill:    {2, 1, "mysql", [2]time.Duration{}, 8 * s},
	MySQLRotate:  {4, 1, "mysql", [2]time.Duration{}, 0},
	MySQLSlow:    {3, 1, "mysql", [2]time.Duration{3 * s, 9 * s}, 0},
	MySQLCut:     {4, 1, "mysql", [2]time.Duration{}, 0},
	MySQLDown:    {3, 1, "mysql", [2]time.Duration{2 * s, 8 * s}, 0},
	MySQLLost:    {3, 1, "mysql", [2]time.Duration{2 * s, 8 * s}, 0},
	MySQLHole:    {2, 1, "mysql", [2]time.Duration{2 * s, 8 * s}, 0},

	DataKill:   {6, 3, "data", [2]time.Duration{5 * s, 40 * s}, 8 * s},
	DataFreeze: {6, 3, "data", [2]time.Duration{5 * s, 30 * s}, 0},
	DataCut:    {4, 3, "data", [2]time.Duration{}, 0},
	DataLost:   {3, 3, "data", [2]time.Duration{3 * s, 10 * s}, 0},
	DataSlow:   {2, 3, "data", [2]time.Duration{3 * s, 10 * s}, 0},

	NameRestart:  {2, 1, "name", [2]time.Duration{}, 20 * s},
	NameKill:     {2, 1, "name", [2]time.Duration{}, 20 * s},
	NameFreeze:   {3, 1, "name", [2]time.Duration{2 * s, 10 * s}, 0},
	NameFailover: {5, 1, "name", [2]time.Duration{}, 8 * s},
	NameCut:      {4, 1, "name", [2]time.Duration{}, 0},
	NameDown:     {3, 1, "name", [2]time.Duration{2 * s, 8 * s}, 0},
	NameLost:     {4, 1, "name", [2]time.Duration{2 * s, 8 * s}, 0},
	NameSlow:     {2, 1, "name", [2]time.Duration{3 * s, 9 * s}, 0},

	StoreKill: {4, 1, "store", [2]time.Duration{}, 0},
	StoreCut:  {4, 1, "store", [2]time.Duration{}, 0},
	StoreDown: {3, 1, "store", [2]time.Duration{2 * s, 8 * s}, 0},
	StoreLost: {4, 1, "store", [2]time.Duration{2 * s, 8 * s}, 0},
	StoreSlow: {2, 1, "store", [2]time.Duration{3 * s, 9 * s}, 0},
}

func (k Kind) targets() int { return rules[k].targets }

// Kinds of faults by what can be hit.
var (
	ProgramKinds = []Kind{KillSink, FreezeSink, TermSink, KillCompactor}
	MySQLKinds   = []Kind{MySQLRestart, MySQLKill, MySQLRotate, MySQLSlow, MySQLCut, MySQLDown, MySQLLost, MySQLHole}
	HDFSKinds    = []Kind{DataKill, DataFreeze, DataCut, DataLost, DataSlow, NameRestart, NameKill, NameFreeze, NameCut, NameDown, NameLost, NameSlow}
	HAKinds      = []Kind{DataKill, NameFailover, NameKill, NameCut, NameDown, NameLost, NameSlow}
	S3Kinds      = []Kind{StoreKill, StoreCut, StoreDown, StoreLost, StoreSlow}
)

// Schedule draws faults, one each `every` with some irregularity, all mended before the end. Two faults of the same part of the
// system never overlap, those of different parts do.
func Schedule(seed uint64, duration, every time.Duration, kinds []Kind) []Fault {
	rng := rand.New(rand.NewPCG(seed, 'f'))
	var list []Fault
	free := map[string]time.Duration{} // when the part is whole again
	for at := every; at < duration; at += every {
		f := Fault{At: at + time.Duration(rng.Int64N(int64(every)/2))}
		var possible []Kind
		total := 0
		for _, k := range kinds {
			if f.At >= free[rules[k].part] {
				possible = append(possible, k)
				total += rules[k].weight
			}
		}
		if total == 0 {
			continue
		}
		n := rng.IntN(total)
		i := slices.IndexFunc(possible, func(k Kind) bool { n -= rules[k].weight; return n < 0 })
		r := rules[possible[i]]
		f.Kind, f.Target = possible[i], rng.IntN(r.targets)
		if r.hold[1] > 0 {
			f.Hold = (r.hold[0] + time.Duration(rng.Int64N(int64(r.hold[1]-r.hold[0])))).Truncate(100 * time.Millisecond)
			f.Hold = min(f.Hold, duration-f.At)
		}
		if f.At = f.At.Truncate(100 * time.Millisecond); f.At >= duration {
			break
		}
		free[r.part] = f.Ends() + max(r.rest, time.Second)
		list = append(list, f)
	}
	return list
}
