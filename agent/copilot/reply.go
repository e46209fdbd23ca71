package copilot

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/rondo-engine/rondo"
	"github.com/rondo-engine/rondo/agent"
)

// errStopped says that whoever reads the answer wants no more of it.
var errStopped = errors.New("copilot: stopped")

// reply turns activities into chunks.
type reply struct {
	yield   func(agent.Chunk, error) bool
	known   string            // id of the conversation, once it is
	streams map[string]string // text so far, by stream
	current string            // the stream that pieces without an id belong to
}

// session yields the conversation's id when it is news.
func (r *reply) session(id string) bool {
	if id == "" || id == r.known {
		return true
	}
	r.known = id
	return r.yield(agent.Chunk{Session: id}, nil)
}

func (r *reply) activity(activity *rondo.Activity) bool {
	if r.known == "" && activity.Type == rondo.ActivityMessage && activity.Conversation != nil && !r.session(activity.Conversation.ID) {
		return false
	}
	if activity.Type == rondo.ActivityTyping {
		if info := infoOf(activity); info.StreamType == "streaming" {
			return r.piece(activity, info)
		}
	}
	if activity.Type == rondo.ActivityMessage {
		r.current = ""
	}
	return r.yield(agent.Chunk{Activity: activity}, nil)
}

// piece yields what a streaming activity adds to its text. Agents send either the
// new piece alone, and say so, or the whole text so far.
func (r *reply) piece(activity *rondo.Activity, info streamInfo) bool {
	// The first activity of a stream gives the stream its id; those that name none
	// go on with it.
	switch {
	case info.StreamID != "":
		r.current = info.StreamID
	case r.current == "":
		r.current = activity.ID
	}
	sofar := r.streams[r.current]
	added := activity.Text
	if info.ChunkType != "delta" {
		if rest, grown := strings.CutPrefix(activity.Text, sofar); grown {
			added = rest
		}
	}
	if added == "" {
		return true
	}
	r.streams[r.current] = sofar + added
	return r.yield(agent.Chunk{Delta: &agent.Delta{ID: r.current, Text: added}}, nil)
}

// streamInfo is what an activity says about the stream it belongs to.
type streamInfo struct {
	Type       string `json:"type"`
	StreamID   string `json:"streamId"`
	StreamType string `json:"streamType"`
	ChunkType  string `json:"chunkType"`
}

// infoOf reads the streaminfo entity, and the channel data for what it leaves out.
func infoOf(activity *rondo.Activity) streamInfo {
	var info, channel streamInfo
	for _, raw := range activity.Entities {
		var entity streamInfo
		// An entity of another shape says nothing about streams.
		if json.Unmarshal(raw, &entity) == nil && entity.Type == "streaminfo" {
			info = entity
			break
		}
	}
	if json.Unmarshal(activity.ChannelData, &channel) != nil {
		return info
	}
	if info.StreamType == "" {
		info.StreamType = channel.StreamType
	}
	if info.StreamID == "" {
		info.StreamID = channel.StreamID
	}
	if info.ChunkType == "" {
		info.ChunkType = channel.ChunkType
	}
	return info
}
