package format

// firstBatch is how many rows the first batch has when the size of rows is not known yet.
const firstBatch = 16

// Pace finds out how many rows a batch may have so that it takes no more than some bytes, from the batches before. Set Rows
// and Bytes, the most of each, and then ask Next and tell Saw by turns.
type Pace struct {
	Rows  int
	Bytes int // 0: no limit
	next  int
}

// Next returns how many rows the next batch should have.
func (p *Pace) Next() int {
	switch {
	case p.next > 0:
	case p.Bytes > 0:
		p.next = min(p.Rows, firstBatch)
	default:
		p.next = p.Rows
	}
	return p.next
}

// Saw tells how many rows the last batch had when as many as Next said were there, and how many bytes they take; bytes
// counts only when there is a limit.
func (p *Pace) Saw(rows, bytes int) {
	short := rows < p.next
	more := p.Rows
	if p.Bytes > 0 && rows > 0 {
		more = min(more, 2*rows, int(int64(rows)*int64(p.Bytes)/int64(max(bytes, 1))))
	}
	if short {
		more = min(more, 2*rows)
	}
	p.next = max(1, more)
}
