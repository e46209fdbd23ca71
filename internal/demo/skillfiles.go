package demo

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

func colour(random *rand.Rand) string { return fmt.Sprintf("#%06x", random.IntN(1<<24)) }

// drawPicture is a picture of a few circles.
func drawPicture(random *rand.Rand, _ []byte) []byte { return drawing(random, "") }

// drawLoop is a picture that moves.
func drawLoop(random *rand.Rand, _ []byte) []byte {
	return drawing(random, fmt.Sprintf(`<animate attributeName="r" values="4;24;4" dur="%ds" repeatCount="indefinite"/>`, 1+random.IntN(4)))
}

func drawing(random *rand.Rand, inside string) []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 160 90"><rect width="160" height="90" fill="%s"/>`, colour(random))
	for range 6 {
		fmt.Fprintf(&out, `<circle cx="%d" cy="%d" r="%d" fill="%s" opacity="0.8">%s</circle>`, random.IntN(160), random.IntN(90), 6+random.IntN(24), colour(random), inside)
	}
	out.WriteString("</svg>\n")
	return out.Bytes()
}

// playTone is a quarter of a second of sound: WAVE, one channel, 8 kHz, 8 bits.
func playTone(random *rand.Rand, _ []byte) []byte {
	const rate, length = 8000, 2000
	pitch := 220 * math.Pow(2, float64(random.IntN(24))/12)
	var out bytes.Buffer
	header := func(name string, values ...any) {
		out.WriteString(name)
		for _, value := range values {
			_ = binary.Write(&out, binary.LittleEndian, value) // a buffer takes everything
		}
	}
	header("RIFF", uint32(36+length))
	header("WAVEfmt ", uint32(16), uint16(1), uint16(1), uint32(rate), uint32(rate), uint16(1), uint16(8))
	header("data", uint32(length))
	for i := range length {
		fade := 1 - float64(i)/length
		out.WriteByte(byte(128 + 100*fade*math.Sin(2*math.Pi*pitch*float64(i)/rate)))
	}
	return out.Bytes()
}

// echoInput is the input as a file.
func echoInput(_ *rand.Rand, input []byte) []byte {
	var out bytes.Buffer
	if json.Indent(&out, input, "", "  ") != nil {
		return []byte("{}\n")
	}
	out.WriteByte('\n')
	return out.Bytes()
}

// packInput is the input in an archive, the same bytes for the same input.
func packInput(random *rand.Rand, input []byte) []byte {
	var out bytes.Buffer
	archive := zip.NewWriter(&out)
	file, err := archive.CreateHeader(&zip.FileHeader{Name: "game.json", Method: zip.Deflate, Modified: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)})
	if err != nil {
		return nil
	}
	_, _ = file.Write(echoInput(random, input)) // a buffer takes everything
	if archive.Close() != nil {
		return nil
	}
	return out.Bytes()
}
