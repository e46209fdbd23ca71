// Package s3 keeps blobs in a bucket of any S3-compatible store: the bytes of hash
// abcd… are the object PREFIX/ab/cd/abcd….
//
// # Guarantees beside those of the port
//
//  1. Bytes are hashed while they go to a temporary file and uploaded from there in
//     one request that carries their SHA-256, which the store checks: an upload that
//     breaks leaves nothing. One blob has at most 5 GiB, which is what S3 takes at once.
//  2. Putting what is there copies the object onto itself, within the store.
//  3. Between the look and the removal of DeleteUnused there is a gap of one request:
//     what is put again in just that moment may be lost, and is made again by the step
//     that needs it. Give it times that are hours ago.
//
// It imports the standard library, the root package, the port and minio-go.
package s3

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"golang.org/x/sync/errgroup"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/blob"
)

// Options say where the bucket is. Bucket is required.
type Options struct {
	Endpoint string // host or host:port; default s3.amazonaws.com
	Insecure bool   // http instead of https
	Region   string // default us-east-1
	Bucket   string
	Prefix   string // of every key; default none

	AccessKey, SecretKey, SessionToken string // empty keys: requests are not signed

	Transport http.RoundTripper // default: minio-go's own
	TempDir   string            // where uploads are spooled; default os.TempDir
	Retries   int               // of one request that fails on the way; default 5
}

// Store is a bucket of blobs. It is safe for concurrent use.
type Store struct {
	core *minio.Core
	opts Options
}

var _ blob.Store = (*Store)(nil)

// maxUpload is what S3 takes in one request.
const maxUpload int64 = 5 << 30

// lookups is how many requests one call sends side by side.
const lookups = 16

// New makes a store; it does not call it.
func New(opts Options) (*Store, error) {
	if opts.Bucket == "" {
		return nil, invalid("the blob store names no bucket", nil)
	}
	if opts.Endpoint == "" {
		opts.Endpoint = "s3.amazonaws.com"
	}
	if opts.Region == "" {
		opts.Region = "us-east-1"
	}
	if opts.Retries <= 0 {
		opts.Retries = 5
	}
	if opts.Prefix = strings.Trim(opts.Prefix, "/"); opts.Prefix != "" {
		opts.Prefix += "/"
	}
	core, err := minio.NewCore(opts.Endpoint, &minio.Options{
		Creds:  credentials.NewStaticV4(opts.AccessKey, opts.SecretKey, opts.SessionToken),
		Secure: !opts.Insecure, Transport: opts.Transport, Region: opts.Region, MaxRetries: opts.Retries,
	})
	if err != nil {
		return nil, invalid("the endpoint of the blob store cannot be used", err)
	}
	return &Store{core: core, opts: opts}, nil
}

func (s *Store) key(hash string) string {
	return s.opts.Prefix + hash[:2] + "/" + hash[2:4] + "/" + hash
}

// Put stores what r has.
func (s *Store) Put(ctx context.Context, r io.Reader, limit int64) (string, int64, error) {
	temp, err := os.CreateTemp(s.opts.TempDir, "rondo-blob-*")
	if err != nil {
		return "", 0, unavailable("put blob", err)
	}
	defer os.Remove(temp.Name())
	defer temp.Close()
	hash, size, err := blob.Spool(ctx, temp, r, min(limit, maxUpload))
	if err != nil {
		return "", 0, blob.Failed("put blob", err, unavailable)
	}
	renewed, err := s.renew(ctx, hash, size)
	if err != nil {
		return "", 0, blob.Failed("put blob", err, unavailable)
	}
	if renewed {
		return hash, size, nil
	}
	if _, err := temp.Seek(0, io.SeekStart); err != nil {
		return "", 0, unavailable("put blob", err)
	}
	// The hash is known and goes with the request: nothing is left to sum up in pieces.
	whole := minio.PutObjectOptions{ContentType: "application/octet-stream", DisableContentSha256: true}
	if _, err := s.core.PutObject(ctx, s.opts.Bucket, s.key(hash), temp, size, "", hash, whole); err != nil {
		return "", 0, blob.Failed("put blob", err, unavailable)
	}
	return hash, size, nil
}

// renew makes an object young that is there already, and reports whether it is.
func (s *Store) renew(ctx context.Context, hash string, size int64) (bool, error) {
	about, err := s.core.StatObject(ctx, s.opts.Bucket, s.key(hash), minio.StatObjectOptions{})
	switch {
	case absent(err):
		return false, nil
	case err != nil:
		return false, err
	case about.Size != size:
		return false, nil
	}
	// The store refuses a copy onto itself that changes nothing.
	_, err = s.core.Client.CopyObject(ctx,
		minio.CopyDestOptions{
			Bucket: s.opts.Bucket, Object: s.key(hash), ReplaceMetadata: true,
			UserMetadata: map[string]string{"Content-Type": "application/octet-stream", "rondo-renewed": time.Now().UTC().Format(time.RFC3339)},
		},
		minio.CopySrcOptions{Bucket: s.opts.Bucket, Object: s.key(hash)})
	if absent(err) {
		return false, nil
	}
	return err == nil, err
}

// Open reads and checks.
func (s *Store) Open(ctx context.Context, hash string) (io.ReadCloser, int64, error) {
	if !blob.ValidHash(hash) {
		return nil, 0, blob.Absent(hash)
	}
	body, about, _, err := s.core.GetObject(ctx, s.opts.Bucket, s.key(hash), minio.GetObjectOptions{})
	if absent(err) {
		return nil, 0, blob.Absent(hash)
	}
	if err != nil {
		return nil, 0, blob.Failed("open blob "+hash, err, unavailable)
	}
	return blob.Verified(body, hash, about.Size), about.Size, nil
}

// Has asks for every object, some at a time.
func (s *Store) Has(ctx context.Context, hashes []string) (map[string]bool, error) {
	there := make([]bool, len(hashes))
	var asking errgroup.Group
	asking.SetLimit(lookups)
	for i, hash := range hashes {
		if !blob.ValidHash(hash) {
			continue
		}
		asking.Go(func() error {
			_, err := s.core.StatObject(ctx, s.opts.Bucket, s.key(hash), minio.StatObjectOptions{})
			there[i] = err == nil
			if absent(err) {
				return nil
			}
			return err
		})
	}
	if err := asking.Wait(); err != nil {
		return nil, blob.Failed("look for blobs", err, unavailable)
	}
	found := make(map[string]bool, len(hashes))
	for i, hash := range hashes {
		if there[i] {
			found[hash] = true
		}
	}
	return found, nil
}

// DeleteUnused removes objects that nobody has put since.
func (s *Store) DeleteUnused(ctx context.Context, hashes []string, before time.Time) (int, error) {
	removed := 0
	for _, hash := range hashes {
		if !blob.ValidHash(hash) {
			continue
		}
		about, err := s.core.StatObject(ctx, s.opts.Bucket, s.key(hash), minio.StatObjectOptions{})
		if absent(err) {
			continue
		}
		if err != nil {
			return removed, blob.Failed("delete blobs", err, unavailable)
		}
		// Stores tell whole seconds, rounded down.
		if about.LastModified.Add(time.Second).After(before) {
			continue
		}
		if err := s.core.RemoveObject(ctx, s.opts.Bucket, s.key(hash), minio.RemoveObjectOptions{}); err != nil && !absent(err) {
			return removed, blob.Failed("delete blobs", err, unavailable)
		}
		removed++
	}
	return removed, nil
}

// absent reports whether a store says that there is no such object. An unknown
// bucket is a mistake in the configuration, not an absent object.
func absent(err error) bool {
	told, ok := errors.AsType[minio.ErrorResponse](err)
	return ok && (told.Code == minio.NoSuchKey || told.StatusCode == http.StatusNotFound && told.Code != minio.NoSuchBucket)
}

func unavailable(op string, err error) error {
	return &rondo.Error{
		Code: rondo.CodeUnavailable, Op: op, Message: "the blob store did not do it",
		Hint: "check endpoint, region, bucket and credentials, and that the store answers", Err: err,
	}
}

func invalid(message string, err error) error {
	return &rondo.Error{Code: rondo.CodeInvalid, Op: "open blob store", Message: message, Hint: "write it like " + form, Err: err}
}
