package s3_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/blob/blobtest"
	"github.com/rondo-engine/rondo/blob/s3"
)

func TestABucketIsABlobStore(t *testing.T) {
	t.Parallel()
	for name, prefix := range map[string]string{"at the root": "", "below a prefix": "some/where/"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			blobtest.Run(t, blobtest.Harness{New: func(t *testing.T) blobtest.Place {
				t.Helper()
				place, _ := open(t, prefix)
				return place
			}})
		})
	}
}

func open(t *testing.T, prefix string) (blobtest.Place, *server) {
	t.Helper()
	web, endpoint := newServer(t)
	temp := t.TempDir()
	store, err := s3.New(options(endpoint, prefix, temp))
	if err != nil {
		t.Fatal(err)
	}
	key := func(hash string) string {
		key := hash[:2] + "/" + hash[2:4] + "/" + hash
		if prefix != "" {
			key = strings.Trim(prefix, "/") + "/" + key
		}
		return key
	}
	change := func(hash string, change func(*object)) {
		web.mu.Lock()
		defer web.mu.Unlock()
		found, ok := web.objects[key(hash)]
		if !ok {
			t.Errorf("there is no object %s", key(hash))
		}
		change(&found)
		web.objects[key(hash)] = found
	}
	return blobtest.Place{
		Store: store,
		Age: func(_ *testing.T, hash string, ago time.Duration) {
			change(hash, func(o *object) { o.modified = time.Now().Add(-ago) })
		},
		Damage: func(_ *testing.T, hash string, content []byte) {
			change(hash, func(o *object) { o.content = content })
		},
		Objects: func(t *testing.T) int {
			t.Helper()
			left, err := os.ReadDir(temp)
			if err != nil {
				t.Fatal(err)
			}
			web.mu.Lock()
			defer web.mu.Unlock()
			return len(web.objects) + len(left)
		},
	}, web
}

func options(endpoint, prefix, temp string) s3.Options {
	return s3.Options{
		Endpoint: endpoint, Insecure: true, Region: region, Bucket: bucket, Prefix: prefix,
		AccessKey: accessKey, SecretKey: secretKey, TempDir: temp, Retries: 2,
	}
}

func TestAStoreThatRefusesIsUnavailableAndTellsNoSecret(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*s3.Options){
		"another key":    func(o *s3.Options) { o.SecretKey = "wrong-secret" },
		"another bucket": func(o *s3.Options) { o.Bucket = "nowhere" },
		"nobody":         func(o *s3.Options) { o.Endpoint = "127.0.0.1:1" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, endpoint := newServer(t)
			opts := options(endpoint, "", t.TempDir())
			opts.Retries = 1
			change(&opts)
			store, err := s3.New(opts)
			if err != nil {
				t.Fatal(err)
			}
			hash := strings.Repeat("a", 64)
			_, _, putErr := store.Put(t.Context(), strings.NewReader("x"), 10)
			_, _, openErr := store.Open(t.Context(), hash)
			_, hasErr := store.Has(t.Context(), []string{hash})
			_, deleteErr := store.DeleteUnused(t.Context(), []string{hash}, time.Now())
			for call, err := range map[string]error{"put": putErr, "open": openErr, "has": hasErr, "delete": deleteErr} {
				// The answer to a HEAD has no body, hence no word for an unknown bucket.
				if name == "another bucket" && (call == "has" || call == "delete") {
					continue
				}
				if rondo.CodeOf(err) != rondo.CodeUnavailable || strings.Contains(err.Error(), opts.SecretKey) {
					t.Errorf("%s: %v", call, err)
				}
			}
		})
	}
}

func TestARequestThatFailsOnTheWayIsSentAgain(t *testing.T) {
	t.Parallel()
	place, web := open(t, "")
	web.refuse = 1
	if _, _, err := place.Store.Put(t.Context(), strings.NewReader("x"), 10); err != nil {
		t.Errorf("put: %v", err)
	}
}

func TestURLs(t *testing.T) {
	t.Parallel()
	env := map[string]string{"AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_SESSION_TOKEN": "token", "AWS_REGION": "eu-west-1"}
	getenv := func(name string) string { return env[name] }
	base := s3.Options{Bucket: "b", Region: "eu-west-1", AccessKey: "id", SecretKey: "secret", SessionToken: "token"}
	with := func(change func(*s3.Options)) s3.Options {
		opts := base
		change(&opts)
		return opts
	}
	for raw, want := range map[string]s3.Options{
		"s3://b":                                base,
		"s3://b/":                               base,
		"s3://b/a/c/":                           with(func(o *s3.Options) { o.Prefix = "a/c" }),
		"s3://b?region=x":                       with(func(o *s3.Options) { o.Region = "x" }),
		"s3://b?endpoint=s3.example.org":        with(func(o *s3.Options) { o.Endpoint = "s3.example.org" }),
		"s3://b?endpoint=http://localhost:9000": with(func(o *s3.Options) { o.Endpoint, o.Insecure = "localhost:9000", true }),
	} {
		got, err := s3.Parse(raw, getenv)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", raw, err, diff)
		}
	}
	for _, raw := range []string{"", "s3:", "s3:///x", "http://b", "s3://user:hidden@b", "s3://b?colour=red", "s3://b?endpoint=ftp://x", "s3://b?endpoint=https://x/y", "s3://b?endpoint=https://u:hidden@x", "s3://b?%zz", "s3://b:90"} {
		_, err := s3.Parse(raw, getenv)
		if rondo.CodeOf(err) != rondo.CodeInvalid || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%s: %v, want invalid", raw, err)
		}
	}
}
