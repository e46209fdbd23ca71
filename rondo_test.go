package rondo_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rondo-engine/rondo"
)

func TestIDsOfOneMakerRiseAndNeverRepeat(t *testing.T) {
	clock := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	ids := rondo.NewIDs(func() time.Time { return clock })
	last := ids.New()
	for n := range 20_000 {
		switch n % 5000 {
		case 1000:
			clock = clock.Add(time.Millisecond)
		case 3000:
			clock = clock.Add(-time.Hour) // the clock steps back
		}
		id := ids.New()
		if bytes.Compare(id[:], last[:]) <= 0 {
			t.Fatalf("id %d is %s, not after %s", n, id, last)
		}
		last = id
	}
}

func TestAnIDIsAUUIDOfVersionSevenWithItsTime(t *testing.T) {
	at := time.UnixMilli(1_700_000_000_123)
	id := rondo.NewIDs(func() time.Time { return at }).New()
	if id[6]>>4 != 7 || id[8]>>6 != 2 {
		t.Errorf("%s is not of version 7 and variant 2", id)
	}
	if want := "018bcfe5-687b-7"; !strings.HasPrefix(id.String(), want) {
		t.Errorf("%s does not begin with its time, %s", id, want)
	}
}

func TestIDsAreReadAsTheyAreWritten(t *testing.T) {
	id := rondo.NewIDs(time.Now).New()
	for _, text := range []string{id.String(), strings.ToUpper(id.String())} {
		if got, err := rondo.ParseID(text); err != nil || got != id {
			t.Errorf("%s was read as %s (%v)", text, got, err)
		}
	}
	for _, text := range []string{"", "x", id.String()[1:], id.String() + "0", strings.Replace(id.String(), "-", "_", 1), "zzzzzzzz-0000-7000-8000-000000000000"} {
		if got, err := rondo.ParseID(text); err == nil {
			t.Errorf("%q was read as %s", text, got)
		}
	}
	type holder struct {
		ID   rondo.ID `json:"id"`
		None rondo.ID `json:"none"`
	}
	encoded, err := json.Marshal(holder{ID: id})
	if want := fmt.Sprintf(`{"id":%q,"none":""}`, id); err != nil || string(encoded) != want {
		t.Fatalf("written as %s (%v), want %s", encoded, err, want)
	}
	var back holder
	if err := json.Unmarshal(encoded, &back); err != nil || back.ID != id || !back.None.IsZero() {
		t.Errorf("read back as %+v (%v)", back, err)
	}
}

func TestTheCodeOfAnErrorIsThatOfTheOutermostThatHasOne(t *testing.T) {
	missing := rondo.NotFound("instance")
	tests := []struct {
		err  error
		want rondo.Code
	}{
		{nil, ""},
		{errors.New("plain"), rondo.CodeInternal},
		{missing, rondo.CodeNotFound},
		{fmt.Errorf("read: %w", missing), rondo.CodeNotFound},
		{rondo.Op("read", missing), rondo.CodeNotFound},
		{&rondo.Error{Code: rondo.CodeUnavailable, Err: missing}, rondo.CodeUnavailable},
	}
	for _, tt := range tests {
		if got := rondo.CodeOf(tt.err); got != tt.want {
			t.Errorf("code of %v is %q, want %q", tt.err, got, tt.want)
		}
	}
	if rondo.Op("read", nil) != nil {
		t.Error("wrapping no error makes one")
	}
	if got, want := rondo.Op("read", missing).Error(), "read: no such instance"; got != want {
		t.Errorf("reads %q, want %q", got, want)
	}
}

func TestScopesMatchExactlyAndAdminHasAll(t *testing.T) {
	reader := rondo.Principal{Scopes: []string{rondo.ScopeReadInstances}}
	if reader.Can(rondo.ScopeRead) || !reader.Can(rondo.ScopeReadInstances) || reader.Admin() {
		t.Error("read-instances is not exactly read-instances")
	}
	admin := rondo.Principal{Scopes: []string{rondo.ScopeAdmin}}
	if !admin.Can(rondo.ScopeIntervene) || !admin.Admin() {
		t.Error("admin cannot do everything")
	}
}
