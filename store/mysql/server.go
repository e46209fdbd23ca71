package mysql

import (
	"context"
	"database/sql"
)

// server is what must be known of the server's settings.
type server struct {
	// stride is the distance between the numbers that one INSERT gives out: more
	// than 1 on servers that share the numbers of a cluster.
	stride int64
	// packet is max_allowed_packet.
	packet int64
}

// settings asks the server once, and again after connections were lost.
func (s *Store) settings(ctx context.Context, conn *sql.Conn) (*server, error) {
	if known := s.server.Load(); known != nil {
		return known, nil
	}
	found := new(server)
	err := conn.QueryRowContext(ctx, "SELECT @@auto_increment_increment, @@max_allowed_packet").Scan(&found.stride, &found.packet)
	if err != nil {
		return nil, err
	}
	s.server.Store(found)
	return found, nil
}
