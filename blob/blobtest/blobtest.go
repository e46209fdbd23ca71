// Package blobtest holds the conformance suite of blob stores.
//
// It imports the standard library, the root package and the port.
package blobtest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/blob"
)

// Harness opens a driver and reaches behind it.
type Harness struct {
	// New returns an empty store.
	New func(t *testing.T) Place
}

// Place is a store whose stored bytes a test can touch.
type Place struct {
	Store blob.Store
	// Age makes bytes look as if they were put that long ago.
	Age func(t *testing.T, hash string, ago time.Duration)
	// Damage replaces the stored bytes.
	Damage func(t *testing.T, hash string, content []byte)
	// Objects counts what is stored, temporary things included.
	Objects func(t *testing.T) int
}

// big is more than fits into one read or buffer.
const big = 3 << 20

// Run holds a driver to the port's guarantees.
func Run(t *testing.T, h Harness) {
	t.Helper()
	tests := map[string]func(*testing.T, Place){
		"what is put can be read":                      testRoundTrip,
		"equal bytes are stored once":                  testDedup,
		"too much is refused and leaves nothing":       testTooLarge,
		"a source that breaks leaves nothing":          testBrokenSource,
		"a call that is over leaves nothing":           testCancelled,
		"absent bytes are not found":                   testAbsent,
		"damaged bytes are told at their end":          testDamaged,
		"damaged bytes of another size are put again":  testHealed,
		"unused bytes are removed, young ones stay":    testDelete,
		"putting again renews the age":                 testRenewed,
		"many put and read the same and others":        testConcurrent,
		"names that are no hashes reach nothing":       testNames,
		"a reader may stop early":                      testStopsEarly,
		"a limit of exactly the size lets it through":  testExactLimit,
		"an empty blob is one too":                     testEmpty,
		"what is removed while it is put is there":     testRemovedWhilePut,
		"has of nothing is nothing, of many is a part": testHas,
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, h.New(t))
		})
	}
}

func random(size int, seed uint64) []byte {
	content := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)}).Read(content)
	return content
}

func hashOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

func put(t *testing.T, s blob.Store, content []byte) string {
	t.Helper()
	hash, size, err := s.Put(t.Context(), bytes.NewReader(content), big*2)
	if err != nil || hash != hashOf(content) || size != int64(len(content)) {
		t.Fatalf("put of %d bytes: %s, %d, %v", len(content), hash, size, err)
	}
	return hash
}

func read(t *testing.T, s blob.Store, hash string) ([]byte, error) {
	t.Helper()
	r, size, err := s.Open(t.Context(), hash)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	content, err := io.ReadAll(r)
	if err == nil && size != int64(len(content)) {
		t.Errorf("open says %d bytes, there are %d", size, len(content))
	}
	return content, err
}

func want(t *testing.T, err error, code rondo.Code) {
	t.Helper()
	if rondo.CodeOf(err) != code {
		t.Errorf("the error is %v (%s), want %s", err, rondo.CodeOf(err), code)
	}
}

func testRoundTrip(t *testing.T, p Place) {
	for i, content := range [][]byte{[]byte("x"), []byte("häßlich 🎈"), random(4096, 1), random(big, 2)} {
		hash := put(t, p.Store, content)
		got, err := read(t, p.Store, hash)
		if err != nil || !bytes.Equal(got, content) {
			t.Errorf("blob %d comes back as %d bytes, %v, want %d", i, len(got), err, len(content))
		}
	}
	// A source that gives one byte at a time.
	hash, _, err := p.Store.Put(t.Context(), iotest.OneByteReader(strings.NewReader("slowly")), 100)
	if err != nil || hash != hashOf([]byte("slowly")) {
		t.Errorf("byte by byte: %s, %v", hash, err)
	}
}

func testDedup(t *testing.T, p Place) {
	content := random(5000, 3)
	put(t, p.Store, content)
	before := p.Objects(t)
	put(t, p.Store, content)
	if after := p.Objects(t); after != before || before != 1 {
		t.Errorf("%d objects, then %d, want 1", before, after)
	}
}

func testTooLarge(t *testing.T, p Place) {
	for _, over := range []int{1, 1000, big} {
		_, _, err := p.Store.Put(t.Context(), bytes.NewReader(random(100+over, 4)), 100)
		want(t, err, rondo.CodeTooLarge)
	}
	if n := p.Objects(t); n != 0 {
		t.Errorf("%d objects are left, want none", n)
	}
}

func testExactLimit(t *testing.T, p Place) {
	for _, source := range []io.Reader{strings.NewReader("12345"), iotest.DataErrReader(strings.NewReader("12345"))} {
		if _, size, err := p.Store.Put(t.Context(), source, 5); err != nil || size != 5 {
			t.Errorf("5 bytes with a limit of 5: %d, %v", size, err)
		}
	}
}

func testEmpty(t *testing.T, p Place) {
	hash := put(t, p.Store, nil)
	if got, err := read(t, p.Store, hash); err != nil || len(got) != 0 {
		t.Errorf("%q, %v, want nothing", got, err)
	}
}

func testBrokenSource(t *testing.T, p Place) {
	broken := errors.New("broken")
	source := io.MultiReader(bytes.NewReader(random(big, 5)), iotest.ErrReader(broken))
	if _, _, err := p.Store.Put(t.Context(), source, big*2); !errors.Is(err, broken) {
		t.Errorf("the error is %v, want the source's", err)
	}
	if n := p.Objects(t); n != 0 {
		t.Errorf("%d objects are left, want none", n)
	}
}

func testCancelled(t *testing.T, p Place) {
	ctx, cancel := context.WithCancel(t.Context())
	source := io.MultiReader(strings.NewReader("first"), reader(func([]byte) (int, error) {
		cancel()
		return 0, nil
	}), rand.NewChaCha8([32]byte{}))
	if _, _, err := p.Store.Put(ctx, source, 1<<40); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v, want the context's", err)
	}
	if n := p.Objects(t); n != 0 {
		t.Errorf("%d objects are left, want none", n)
	}
}

type reader func([]byte) (int, error)

// Read calls the function.
func (r reader) Read(p []byte) (int, error) { return r(p) }

func testAbsent(t *testing.T, p Place) {
	_, err := read(t, p.Store, hashOf([]byte("never put")))
	want(t, err, rondo.CodeNotFound)
}

func testDamaged(t *testing.T, p Place) {
	content := random(10_000, 6)
	for name, damaged := range map[string][]byte{
		"other bytes": random(10_000, 7), "cut": content[:9_999], "longer": append(slices.Clone(content), 'x'), "nothing": {},
	} {
		hash := put(t, p.Store, content)
		p.Damage(t, hash, damaged)
		if _, err := read(t, p.Store, hash); rondo.CodeOf(err) != rondo.CodeStateCorrupt {
			t.Errorf("%s: the error is %v, want %s", name, err, rondo.CodeStateCorrupt)
		}
		if _, err := p.Store.DeleteUnused(t.Context(), []string{hash}, time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
}

func testHealed(t *testing.T, p Place) {
	content := random(10_000, 8)
	hash := put(t, p.Store, content)
	p.Damage(t, hash, content[:500])
	put(t, p.Store, content)
	if got, err := read(t, p.Store, hash); err != nil || !bytes.Equal(got, content) {
		t.Errorf("after putting again: %d bytes, %v", len(got), err)
	}
}

func testDelete(t *testing.T, p Place) {
	old, young, kept := put(t, p.Store, []byte("old")), put(t, p.Store, []byte("young")), put(t, p.Store, []byte("kept"))
	p.Age(t, old, 48*time.Hour)
	p.Age(t, kept, 48*time.Hour)
	absent := hashOf([]byte("absent"))
	removed, err := p.Store.DeleteUnused(t.Context(), []string{old, young, absent}, time.Now().Add(-time.Hour))
	if err != nil || removed != 1 {
		t.Errorf("%d are removed, %v, want 1", removed, err)
	}
	has, err := p.Store.Has(t.Context(), []string{old, young, kept, absent})
	if err != nil || has[old] || !has[young] || !has[kept] || has[absent] {
		t.Errorf("there are %v, %v, want the young and the kept one", has, err)
	}
}

func testRenewed(t *testing.T, p Place) {
	hash := put(t, p.Store, []byte("again"))
	p.Age(t, hash, 48*time.Hour)
	put(t, p.Store, []byte("again"))
	removed, err := p.Store.DeleteUnused(t.Context(), []string{hash}, time.Now().Add(-time.Hour))
	if err != nil || removed != 0 {
		t.Errorf("%d are removed, %v, want none: it was put again", removed, err)
	}
}

func testConcurrent(t *testing.T, p Place) {
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			for i := range 10 {
				content := random(2000, uint64(i))
				if worker%2 == 0 {
					content = append(content, byte(worker))
				}
				hash, _, err := p.Store.Put(t.Context(), bytes.NewReader(content), big)
				if err != nil {
					t.Errorf("put: %v", err)
					return
				}
				if got, err := read(t, p.Store, hash); err != nil || !bytes.Equal(got, content) {
					t.Errorf("read: %d bytes, %v", len(got), err)
				}
			}
		})
	}
	all.Wait()
	if n := p.Objects(t); n != 50 {
		t.Errorf("%d objects, want 50", n)
	}
}

func testRemovedWhilePut(t *testing.T, p Place) {
	for i := range 20 {
		content := fmt.Appendf(nil, "content %d", i)
		hash := put(t, p.Store, content)
		p.Age(t, hash, 48*time.Hour)
		if _, err := p.Store.DeleteUnused(t.Context(), []string{hash}, time.Now().Add(-time.Hour)); err != nil {
			t.Fatal(err)
		}
		if put(t, p.Store, content); t.Failed() {
			return
		}
		if _, err := read(t, p.Store, hash); err != nil {
			t.Errorf("put after a removal: %v", err)
		}
	}
}

func testNames(t *testing.T, p Place) {
	put(t, p.Store, []byte("x"))
	for _, name := range []string{"", "x", "../../etc/passwd", strings.Repeat("A", 64), strings.Repeat("/", 64), strings.Repeat("a", 63), strings.Repeat("a", 65)} {
		_, err := read(t, p.Store, name)
		want(t, err, rondo.CodeNotFound)
		if has, err := p.Store.Has(t.Context(), []string{name}); err != nil || len(has) != 0 {
			t.Errorf("has %q: %v, %v", name, has, err)
		}
		if n, err := p.Store.DeleteUnused(t.Context(), []string{name}, time.Now().Add(time.Hour)); err != nil || n != 0 {
			t.Errorf("delete %q: %d, %v", name, n, err)
		}
	}
}

func testStopsEarly(t *testing.T, p Place) {
	hash := put(t, p.Store, random(big, 9))
	r, _, err := p.Store.Open(t.Context(), hash)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(r, make([]byte, 10)); err != nil {
		t.Error(err)
	}
	if err := r.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

func testHas(t *testing.T, p Place) {
	if has, err := p.Store.Has(t.Context(), nil); err != nil || len(has) != 0 {
		t.Errorf("of nothing: %v, %v", has, err)
	}
	var hashes []string
	for i := range 40 {
		content := fmt.Appendf(nil, "%d", i)
		hashes = append(hashes, hashOf(content))
		if i%2 == 0 {
			put(t, p.Store, content)
		}
	}
	has, err := p.Store.Has(t.Context(), hashes)
	if err != nil || len(has) != 20 {
		t.Errorf("there are %d, %v, want 20", len(has), err)
	}
	for i, hash := range hashes {
		if has[hash] != (i%2 == 0) {
			t.Errorf("blob %d: %t", i, has[hash])
		}
	}
}
