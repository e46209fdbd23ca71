package s3

import (
	"net/url"
	"strings"
)

const form = "s3://bucket/prefix?endpoint=https://s3.example.org&region=eu-central-1"

// Parse reads a URL such as
// s3://bucket/prefix?endpoint=https://s3.example.org&region=eu-central-1. Credentials
// come from AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, the region
// also from AWS_REGION; a URL with credentials in it is refused, because URLs are
// printed and stored.
func Parse(raw string, getenv func(string) string) (Options, error) {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "s3" || u.Host == "" || u.Port() != "" || u.Fragment != "" {
		return Options{}, invalid("the URL of the blob store cannot be read", nil)
	}
	if u.User != nil {
		return Options{}, invalid("the URL of the blob store has credentials: they belong in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY", nil)
	}
	opts := Options{
		Bucket: u.Host, Prefix: strings.Trim(u.Path, "/"), Region: getenv("AWS_REGION"),
		AccessKey: getenv("AWS_ACCESS_KEY_ID"), SecretKey: getenv("AWS_SECRET_ACCESS_KEY"), SessionToken: getenv("AWS_SESSION_TOKEN"),
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return Options{}, invalid("the URL of the blob store cannot be read", nil)
	}
	for name, values := range query {
		value := values[len(values)-1]
		switch name {
		case "region":
			opts.Region = value
		case "endpoint":
			if err := opts.endpoint(value); err != nil {
				return Options{}, err
			}
		default:
			return Options{}, invalid("the URL of the blob store has an unknown parameter "+name+": known are endpoint and region", nil)
		}
	}
	return opts, nil
}

// endpoint takes host, host:port, http://host or https://host.
func (o *Options) endpoint(value string) error {
	if !strings.Contains(value, "://") {
		value = "https://" + value
	}
	u, err := url.Parse(value)
	if err != nil || u.Host == "" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.Scheme != "http" && u.Scheme != "https" {
		return invalid("the endpoint of the blob store is neither a host nor http(s)://host", nil)
	}
	o.Endpoint, o.Insecure = u.Host, u.Scheme == "http"
	return nil
}
