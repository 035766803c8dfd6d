package aggregate

import (
	"errors"
	"math/big"

	"github.com/paimon-go/paimon-go/format/row"
)

var (
	errDivideByZero = errors.New("a retract divides by zero")
	errInexact      = errors.New("a retract divides to a number without end, which no DECIMAL holds")
)

// newProduct returns the function for the store of a numeric type.
func newProduct(t *row.Type, _ params) (Func, error) {
	switch t.Root {
	case row.TinyInt, row.SmallInt, row.Int:
		return productI32{bits: intBits(t.Root)}, nil
	case row.BigInt:
		return productI64{}, nil
	case row.Float:
		return productF32{}, nil
	case row.Double:
		return productF64{}, nil
	case row.Decimal:
		p := &productDecimal{precision: t.Precision}
		p.unit.Exp(big.NewInt(10), big.NewInt(int64(t.Scale)), nil)
		return p, nil
	}
	return nil, needs("a number", t)
}

// either reports whether one of the two is NULL: a retract keeps the cell then.
func either(acc, in *row.Column, i int) bool { return acc.Nulls.Get(0) || in.Nulls.Get(i) }

// productI32 multiplies TINYINT, SMALLINT and INT, which wrap.
type productI32 struct {
	noState
	bits int
}

func (f productI32) Add(acc, in *row.Column, i int) error {
	if !skipNull(acc, in, i) {
		acc.I32[0] = wrap(acc.I32[0]*in.I32[i], f.bits)
	}
	return nil
}

func (f productI32) Retract(acc, in *row.Column, i int) error {
	if either(acc, in, i) {
		return nil
	}
	if in.I32[i] == 0 {
		return errDivideByZero
	}
	acc.I32[0] = wrap(acc.I32[0]/in.I32[i], f.bits)
	return nil
}

// productI64 multiplies BIGINT, which wraps.
type productI64 struct{ noState }

func (productI64) Add(acc, in *row.Column, i int) error {
	if !skipNull(acc, in, i) {
		acc.I64[0] *= in.I64[i]
	}
	return nil
}

func (productI64) Retract(acc, in *row.Column, i int) error {
	if either(acc, in, i) {
		return nil
	}
	if in.I64[i] == 0 {
		return errDivideByZero
	}
	acc.I64[0] /= in.I64[i]
	return nil
}

type productF32 struct{ noState }

func (productF32) Add(acc, in *row.Column, i int) error {
	if !skipNull(acc, in, i) {
		acc.F32[0] *= in.F32[i]
	}
	return nil
}

func (productF32) Retract(acc, in *row.Column, i int) error {
	if !either(acc, in, i) {
		acc.F32[0] /= in.F32[i]
	}
	return nil
}

type productF64 struct{ noState }

func (productF64) Add(acc, in *row.Column, i int) error {
	if !skipNull(acc, in, i) {
		acc.F64[0] *= in.F64[i]
	}
	return nil
}

func (productF64) Retract(acc, in *row.Column, i int) error {
	if !either(acc, in, i) {
		acc.F64[0] /= in.F64[i]
	}
	return nil
}

// productDecimal multiplies DECIMAL: the exact result is rounded half up to the scale, and NULL when it has too many
// digits. A retract's quotient has to have an end.
type productDecimal struct {
	noState
	precision int
	unit      big.Int // 10^scale

	a, b, num, rest, gcd big.Int // scratch
	bytes                [16]byte
}

func (f *productDecimal) Add(acc, in *row.Column, i int) error {
	if skipNull(acc, in, i) {
		return nil
	}
	f.load(&f.a, acc.Decimal(0))
	f.load(&f.b, in.Decimal(i))
	f.num.Mul(&f.a, &f.b)
	f.store(acc, &f.num, &f.unit)
	return nil
}

func (f *productDecimal) Retract(acc, in *row.Column, i int) error {
	if either(acc, in, i) {
		return nil
	}
	f.load(&f.a, acc.Decimal(0))
	f.load(&f.b, in.Decimal(i))
	if f.b.Sign() == 0 {
		return errDivideByZero
	}
	if f.b.Sign() < 0 {
		f.a.Neg(&f.a)
		f.b.Neg(&f.b)
	}
	if f.a.Sign() != 0 && !f.ends() {
		return errInexact
	}
	f.num.Mul(&f.a, &f.unit)
	f.store(acc, &f.num, &f.b)
	return nil
}

// ends tells whether a/b has an end in decimal: b without what it shares with a has no prime factor but 2 and 5.
func (f *productDecimal) ends() bool {
	f.num.Abs(&f.a)
	f.gcd.GCD(nil, nil, &f.num, &f.b)
	f.num.Quo(&f.b, &f.gcd)
	for _, p := range []int64{2, 5} {
		prime := big.NewInt(p)
		for {
			f.gcd.QuoRem(&f.num, prime, &f.rest)
			if f.rest.Sign() != 0 {
				break
			}
			f.num.Set(&f.gcd)
		}
	}
	return f.num.IsInt64() && f.num.Int64() == 1
}

func (f *productDecimal) load(dst *big.Int, v row.Int128) {
	neg := v.Sign() < 0
	if neg {
		v = v.Neg() // a DECIMAL is above the minimum
	}
	f.bytes = v.Bytes()
	dst.SetBytes(f.bytes[:])
	if neg {
		dst.Neg(dst)
	}
}

// store makes num/den, rounded half up (away from zero), the cell's value. den is positive; num is lost.
func (f *productDecimal) store(acc *row.Column, num, den *big.Int) {
	neg := num.Sign() < 0
	num.Abs(num)
	num.QuoRem(num, den, &f.rest)
	if f.rest.Lsh(&f.rest, 1).Cmp(den) >= 0 {
		num.Add(num, one)
	}
	if num.BitLen() > 127 {
		SetNull(acc)
		return
	}
	v, _ := row.Int128FromBytes(num.FillBytes(f.bytes[:]))
	if neg {
		v = v.Neg()
	}
	acc.Reset()
	if !acc.AppendDecimal(v) {
		acc.AppendNull()
	}
}

var one = big.NewInt(1)
