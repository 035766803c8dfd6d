package hdfs

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestRequestBytes compares with bytes that were put together by hand from Hadoop's .proto files.
func TestRequestBytes(t *testing.T) {
	b := block{id: extendedBlock{"BP-1", 5, 6, 7}, nodes: []node{{raw: []byte{1}}, {raw: []byte{2, 3}}}, token: token{raw: []byte{9}},
		types: []uint64{1, 2}, storages: []string{"s", "t"}}
	// ExtendedBlockProto: poolId 1, blockId 2, generationStamp 3, numBytes 4
	ext := "0a0442502d31" + "1005" + "1806" + "2007"
	require.Equal(t, ext, hex.EncodeToString(b.id.encode()))
	// ClientOperationHeaderProto: baseHeader 1 {block 1, token 2}, clientName 2
	head := "0a11" + "0a0c" + ext + "120109" + "120163"
	require.Equal(t, head, hex.EncodeToString(opHeader(b, "c")))
	// OpWriteBlockProto: header 1, targets 2, stage 4, pipelineSize 5, minBytes 6, maxBytes 7, stamp 8, checksum 9 {type 1, bytes 2},
	// storageType 11, targetStorageTypes 12, storageId 16, targetStorageIds 17
	require.Equal(t, "0a16"+head+"12020203"+"2006"+"2801"+"3007"+"3800"+"4000"+"4a050802108004"+"5801"+"6002"+"82010173"+"8a010174",
		hex.EncodeToString(writeRequest(b, "c")))
	// OpReadBlockProto: header 1, offset 2, len 3
	require.Equal(t, "0a16"+head+"1001"+"1802", hex.EncodeToString(readRequest(b, "c", 1, 2)))
}

func TestParse(t *testing.T) {
	x := extendedBlock{"p", 1 << 40, 3, 4}
	got, err := parseExtendedBlock(x.encode())
	require.NoError(t, err)
	require.Equal(t, x, got)
	s, err := parseStatus(encodeStatus("n", &fakeFile{id: 7, blocks: []extendedBlock{x}}))
	require.NoError(t, err)
	require.Equal(t, status{name: "n", kind: kindOfFile, size: 4, modTime: 1_700_000_000_000, id: 7}, s)
	for _, flags := range [][]byte{{0x08, 0x03, 0x10, 0, 0x10, 1}, {0x08, 0x03, 0x12, 2, 0, 1}, {0x08, 0x03, 0x22, 2, 0x10, 0x11}} {
		a, err := parseAck(flags)
		require.NoError(t, err)
		require.Equal(t, ack{-2, []uint64{0, 1}}, a)
	}
	k, err := parseKey([]byte{0x08, 1, 0x12, 1, 'p', 0x1a, 1, 2, 0x22, 1, 3, 0x28, 0xe8, 7}, time.UnixMilli(0))
	require.NoError(t, err)
	require.False(t, k.stale(time.UnixMilli(799)))
	require.True(t, k.stale(time.UnixMilli(801)))
}

func TestHiddenName(t *testing.T) {
	require.Regexp(t, `^/a/\.b\.[0-9a-f-]{36}\.tmp$`, hiddenName("/a/b"))
	require.NotEqual(t, hiddenName("/b"), hiddenName("/b"))
}

// FuzzParse: what a server sends never does more harm than an error.
func FuzzParse(f *testing.F) {
	b := extendedBlock{"p", 1, 2, 3}
	f.Add([]byte(encodeStatus("n", &fakeFile{id: 1, blocks: []extendedBlock{b}})))
	f.Add([]byte(encodeBlock(b, 5, nil)))
	f.Add(appendPacket(nil, packetHead{offset: 512, seq: 3, last: true, sync: true}, pattern(1000)))
	f.Add([]byte(`realm="0",nonce="\"x",qop="auth,auth-int",charset=utf-8`))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = parseStatus(b)
		_, _ = parseBlock(b)
		_, _ = parseAnswer(b)
		_, _ = parseAck(b)
		_, _ = parseSASL(b)
		_, _ = parseKey(b, time.Time{})
		_, _ = parseChallenge(string(b))
		if l, err := parseLocated(b); err == nil {
			require.GreaterOrEqual(t, l.size, int64(0))
		}
		for _, sum := range []uint64{checksumNull, checksumCRC32, checksumCRC32C} {
			p, err := newPacketReader(bytes.NewReader(b), opAnswer{checksum: sum, perSum: chunkSize})
			require.NoError(t, err)
			for err == nil {
				_, _, err = p.next(nil)
			}
		}
		_, _ = readMessage(bufio.NewReader(bytes.NewReader(b)))
		s := seal{key: []byte("k")}
		_, _ = s.open(append([]byte{}, b...))
	})
}
