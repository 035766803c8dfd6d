package aggregate

import "github.com/paimon-go/paimon-go/format/row"

// newSum returns the function for the store of a numeric type.
func newSum(t *row.Type, _ params) (Func, error) {
	switch t.Root {
	case row.TinyInt, row.SmallInt, row.Int:
		return sumI32{bits: intBits(t.Root)}, nil
	case row.BigInt:
		return sumI64{}, nil
	case row.Float:
		return sumF32{}, nil
	case row.Double:
		return sumF64{}, nil
	case row.Decimal:
		if t.Store() == row.StoreI64 {
			return sumDecimal64{precision: t.Precision}, nil
		}
		return sumDecimal128{precision: t.Precision}, nil
	}
	return nil, needs("a number", t)
}

func intBits(r row.Root) int {
	switch r {
	case row.TinyInt:
		return 8
	case row.SmallInt:
		return 16
	}
	return 32
}

// wrap cuts v to a signed number of so many bits.
func wrap(v int32, bits int) int32 { return v << (32 - bits) >> (32 - bits) }

// take puts row i of in into a NULL cell. It reports false when nothing more is to do, because one of the two is NULL;
// negated tells that the cell has to be made its negative.
func take(acc, in *row.Column, i int) (both, negate bool) {
	switch {
	case in.Nulls.Get(i):
		return false, false
	case acc.Nulls.Get(0):
		Set(acc, in, i)
		return false, true
	}
	return true, false
}

// sumI32 adds TINYINT, SMALLINT and INT, which wrap.
type sumI32 struct {
	noState
	bits int
}

func (f sumI32) Add(acc, in *row.Column, i int) error {
	if !skipNull(acc, in, i) {
		acc.I32[0] = wrap(acc.I32[0]+in.I32[i], f.bits)
	}
	return nil
}

func (f sumI32) Retract(acc, in *row.Column, i int) error {
	if both, negate := take(acc, in, i); both {
		acc.I32[0] = wrap(acc.I32[0]-in.I32[i], f.bits)
	} else if negate {
		acc.I32[0] = wrap(-acc.I32[0], f.bits)
	}
	return nil
}

// sumI64 adds BIGINT, which wraps.
type sumI64 struct{ noState }

func (sumI64) Add(acc, in *row.Column, i int) error {
	if !skipNull(acc, in, i) {
		acc.I64[0] += in.I64[i]
	}
	return nil
}

func (sumI64) Retract(acc, in *row.Column, i int) error {
	if both, negate := take(acc, in, i); both {
		acc.I64[0] -= in.I64[i]
	} else if negate {
		acc.I64[0] = -acc.I64[0]
	}
	return nil
}

type sumF32 struct{ noState }

func (sumF32) Add(acc, in *row.Column, i int) error {
	if !skipNull(acc, in, i) {
		acc.F32[0] += in.F32[i]
	}
	return nil
}

func (sumF32) Retract(acc, in *row.Column, i int) error {
	if both, negate := take(acc, in, i); both {
		acc.F32[0] -= in.F32[i]
	} else if negate {
		acc.F32[0] = -acc.F32[0]
	}
	return nil
}

type sumF64 struct{ noState }

func (sumF64) Add(acc, in *row.Column, i int) error {
	if !skipNull(acc, in, i) {
		acc.F64[0] += in.F64[i]
	}
	return nil
}

func (sumF64) Retract(acc, in *row.Column, i int) error {
	if both, negate := take(acc, in, i); both {
		acc.F64[0] -= in.F64[i]
	} else if negate {
		acc.F64[0] = -acc.F64[0]
	}
	return nil
}

// sumDecimal64 adds DECIMAL of up to 18 digits. As in Java a sum may have more digits than the type, as long as 64 bits
// hold it; one that they don't hold is NULL.
type sumDecimal64 struct {
	noState
	precision int
}

func (f sumDecimal64) Add(acc, in *row.Column, i int) error {
	if !skipNull(acc, in, i) {
		a, b := acc.I64[0], in.I64[i]
		if sum := a + b; (sum > a) == (b > 0) {
			acc.I64[0] = sum
		} else {
			SetNull(acc)
		}
	}
	return nil
}

func (f sumDecimal64) Retract(acc, in *row.Column, i int) error {
	if both, negate := take(acc, in, i); both {
		a, b := acc.I64[0], in.I64[i]
		if diff := a - b; (diff < a) == (b > 0) {
			acc.I64[0] = diff
		} else {
			SetNull(acc)
		}
	} else if negate {
		if acc.I64[0] = -acc.I64[0]; !row.FitsDecimal(acc.I64[0], f.precision) {
			SetNull(acc)
		}
	}
	return nil
}

// sumDecimal128 adds DECIMAL of more than 18 digits; a sum of more digits than the type has is NULL.
type sumDecimal128 struct {
	noState
	precision int
}

func (f sumDecimal128) Add(acc, in *row.Column, i int) error {
	if !skipNull(acc, in, i) {
		f.set(acc, acc.I128[0].Add(in.I128[i]))
	}
	return nil
}

func (f sumDecimal128) Retract(acc, in *row.Column, i int) error {
	if both, negate := take(acc, in, i); both {
		f.set(acc, acc.I128[0].Add(in.I128[i].Neg()))
	} else if negate {
		f.set(acc, acc.I128[0].Neg())
	}
	return nil
}

func (f sumDecimal128) set(acc *row.Column, v row.Int128) {
	if acc.I128[0] = v; !v.Fits(f.precision) { // two of 38 digits can't wrap
		SetNull(acc)
	}
}
