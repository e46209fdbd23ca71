package guard

import "net/netip"

// special are ranges that are not public, or that lead to some that are not (tunnels
// and translators carry an IPv4 address inside). The list stands on its own: a
// library that forgets one of them changes nothing.
var special = func() (prefixes []netip.Prefix) {
	for _, text := range []string{
		"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
		"192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16",
		"192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",

		"::/96",           // unspecified, loopback, IPv4-compatible
		"::ffff:0:0/96",   // IPv4-mapped
		"::ffff:0:0:0/96", // IPv4-translated
		"64:ff9b::/96",    // NAT64
		"64:ff9b:1::/48",  // NAT64, local
		"100::/64",        // discard
		"2001::/23",       // protocol assignments, Teredo among them
		"2001:db8::/32",   // documentation
		"2002::/16",       // 6to4
		"2620:4f:8000::/48",
		"3fff::/20", // documentation
		"5f00::/16", // segment routing
		"fc00::/7",  // unique local
		"fe80::/10", // link local
		"fec0::/10", // site local
		"ff00::/8",  // multicast
	} {
		prefixes = append(prefixes, netip.MustParsePrefix(text))
	}
	return prefixes
}()
