package httpapi

import (
	"net/http"
	"time"
)

// The limits of a connection.
const (
	maxHeaderBytes    = 16 << 10
	readHeaderTimeout = 5 * time.Second
	readTimeout       = 15 * time.Second
	writeTimeout      = 30 * time.Second
	idleTimeout       = 60 * time.Second
)

// NewServer returns a server whose limits keep slow and oversized clients from
// holding it. The caller starts and stops it.
func NewServer(addr string, handler http.Handler) *http.Server {
	return &http.Server{
		Addr:              addr,
		Handler:           handler,
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		// The standard library reads 4 KiB more than it is told.
		MaxHeaderBytes: maxHeaderBytes - 4<<10,
	}
}
