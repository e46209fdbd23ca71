// Package examples holds the workflow files that `rondo dev` registers. It imports
// nothing.
package examples

import _ "embed" // files below

// The names of the workflows in the files.
const (
	CampaignName = "campaign.build"
	SiteName     = "site.build"
)

// Campaign is a workflow of simulated skills.
//
//go:embed campaign/campaign.yaml
var Campaign []byte

// Site is a workflow that runs commands.
//
//go:embed site/site.yaml
var Site []byte
