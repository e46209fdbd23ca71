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

// maxSession bounds the id of a conversation, which is stored and sent with every
// turn.
const maxSession = 1 << 10

// session yields the conversation's id when it is news.
func (r *reply) session(id string) error {
	if id == "" || id == r.known {
		return nil
	}
	if len(id) > maxSession {
		return &agent.Error{Provider: provider, Kind: agent.KindTooLarge, Message: "the id of the conversation is too long"}
	}
	r.known = id
	return r.give(agent.Chunk{Session: id})
}

func (r *reply) give(chunk agent.Chunk) error {
	if !r.yield(chunk, nil) {
		return errStopped
	}
	return nil
}

func (r *reply) activity(activity *rondo.Activity) error {
	if r.known == "" && activity.Type == rondo.ActivityMessage && activity.Conversation != nil {
		if err := r.session(activity.Conversation.ID); err != nil {
			return err
		}
	}
	if activity.Type == rondo.ActivityTyping {
		if info := infoOf(activity); info.StreamType == "streaming" {
			return r.piece(activity, info)
		}
	}
	if activity.Type == rondo.ActivityMessage {
		r.ended(activity)
	}
	return r.give(agent.Chunk{Activity: activity})
}

// ended gives the message that ends a stream the id that its pieces had.
func (r *reply) ended(message *rondo.Activity) {
	stream := infoOf(message).StreamID
	if stream == "" {
		stream = r.current
	}
	if _, streamed := r.streams[stream]; streamed {
		message.ID = stream
	}
	r.current = ""
}

// piece yields what a streaming activity adds to its text. Agents send either the
// new piece alone, and say so, or the whole text so far.
func (r *reply) piece(activity *rondo.Activity, info streamInfo) error {
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
		return nil
	}
	r.streams[r.current] = sofar + added
	return r.give(agent.Chunk{Delta: &agent.Delta{ID: r.current, Text: added}})
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
