package s3_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	accessKey = "AKIATEST"
	secretKey = "a-secret-of-the-test"
	region    = "eu-test-1"
	bucket    = "artifacts"
)

// server is as much of an S3 store as the driver speaks to: objects by path, checked
// signatures (version 4, in the header), checked content hashes, copies.
type server struct {
	mu      sync.Mutex
	objects map[string]object
	refuse  int // answers that many requests with 503 first
}

type object struct {
	content  []byte
	modified time.Time
}

func newServer(t *testing.T) (*server, string) {
	t.Helper()
	s := &server{objects: map[string]object{}}
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	return s, strings.TrimPrefix(web.URL, "http://")
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refuse > 0 {
		s.refuse--
		refuse(w, http.StatusServiceUnavailable, "SlowDown")
		return
	}
	if !signed(r) {
		refuse(w, http.StatusForbidden, "SignatureDoesNotMatch")
		return
	}
	name, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if name != bucket {
		refuse(w, http.StatusNotFound, "NoSuchBucket")
		return
	}
	switch source := r.Header.Get("X-Amz-Copy-Source"); {
	case r.Method == http.MethodPut && source != "":
		s.copy(w, r, source, key)
	case r.Method == http.MethodPut:
		sum := sha256.Sum256(body)
		if told := r.Header.Get("X-Amz-Content-Sha256"); told != hex.EncodeToString(sum[:]) {
			refuse(w, http.StatusBadRequest, "XAmzContentSHA256Mismatch")
			return
		}
		s.objects[key] = object{body, time.Now()}
		w.Header().Set("ETag", `"x"`)
	case r.Method == http.MethodGet || r.Method == http.MethodHead:
		found, ok := s.objects[key]
		if !ok {
			refuse(w, http.StatusNotFound, "NoSuchKey")
			return
		}
		w.Header().Set("Last-Modified", found.modified.UTC().Format(http.TimeFormat))
		w.Header().Set("ETag", `"x"`)
		w.Header().Set("Content-Length", strconv.Itoa(len(found.content)))
		if r.Method == http.MethodGet {
			_, _ = w.Write(found.content)
		}
	case r.Method == http.MethodDelete:
		delete(s.objects, key)
		w.WriteHeader(http.StatusNoContent)
	default:
		refuse(w, http.StatusNotImplemented, "NotImplemented")
	}
}

func (s *server) copy(w http.ResponseWriter, r *http.Request, source, key string) {
	from, _ := url.PathUnescape(source)
	found, ok := s.objects[strings.TrimPrefix(strings.TrimPrefix(from, "/"), bucket+"/")]
	if !ok {
		refuse(w, http.StatusNotFound, "NoSuchKey")
		return
	}
	if r.Header.Get("X-Amz-Metadata-Directive") != "REPLACE" {
		refuse(w, http.StatusBadRequest, "InvalidRequest") // a copy that changes nothing
		return
	}
	found.modified = time.Now()
	s.objects[key] = found
	_ = xml.NewEncoder(w).Encode(struct {
		XMLName      xml.Name `xml:"CopyObjectResult"`
		ETag         string
		LastModified string
	}{ETag: `"x"`, LastModified: found.modified.UTC().Format("2006-01-02T15:04:05.000Z")})
}

func refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	_ = xml.NewEncoder(w).Encode(struct {
		XMLName xml.Name `xml:"Error"`
		Code    string
		Message string
	}{Code: code, Message: code})
}

// signed computes the signature of a request anew.
func signed(r *http.Request) bool {
	const scheme = "AWS4-HMAC-SHA256 "
	authorization := r.Header.Get("Authorization")
	if !strings.HasPrefix(authorization, scheme) {
		return false
	}
	parts := map[string]string{}
	for part := range strings.SplitSeq(strings.TrimPrefix(authorization, scheme), ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		parts[name] = value
	}
	credential := strings.Split(parts["Credential"], "/")
	if len(credential) != 5 || credential[0] != accessKey || credential[2] != region {
		return false
	}
	headers := strings.Split(parts["SignedHeaders"], ";")
	if !slices.Contains(headers, "host") || !slices.Contains(headers, "x-amz-content-sha256") {
		return false
	}
	var canonical strings.Builder
	canonical.WriteString(r.Method + "\n" + r.URL.EscapedPath() + "\n" + strings.ReplaceAll(r.URL.Query().Encode(), "+", "%20") + "\n")
	for _, name := range headers {
		value := strings.Join(r.Header.Values(name), ",")
		switch name {
		case "host":
			value = r.Host
		case "content-length":
			value = strconv.FormatInt(r.ContentLength, 10)
		}
		canonical.WriteString(name + ":" + strings.TrimSpace(value) + "\n")
	}
	canonical.WriteString("\n" + parts["SignedHeaders"] + "\n" + r.Header.Get("X-Amz-Content-Sha256"))
	sum := sha256.Sum256([]byte(canonical.String()))
	scope := strings.Join(credential[1:], "/")
	text := "AWS4-HMAC-SHA256\n" + r.Header.Get("X-Amz-Date") + "\n" + scope + "\n" + hex.EncodeToString(sum[:])
	key := []byte("AWS4" + secretKey)
	for _, part := range credential[1:] {
		key = mac(key, part)
	}
	return hmac.Equal([]byte(hex.EncodeToString(mac(key, text))), []byte(parts["Signature"]))
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}
