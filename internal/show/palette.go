package show

// paint is how boxes of one style look in every output format.
type paint struct {
	style  style
	fill   string
	stroke string
}

// palette lists the styles in a fixed order.
var palette = []paint{
	{styleStart, "#e6f5ec", "#2e8b57"},
	{styleEnd, "#eceff1", "#546069"},
	{styleAgent, "#e8f0fe", "#3367d6"},
	{styleSub, "#f6f9ff", "#7a98dd"},
	{styleTool, "#fff3df", "#c27803"},
	{styleFunc, "#eef1f3", "#607080"},
	{styleDecide, "#fff8d4", "#ad9000"},
	{styleWait, "#f5eafb", "#8e44ad"},
	{styleFork, "#e4f6f5", "#1b8a86"},
	{styleJoin, "#e4f6f5", "#1b8a86"},
	{styleSubflow, "#fdeef0", "#bf4560"},
	{stylePoint, "#8a96a1", "#8a96a1"},
}

const (
	inkText   = "#1c2430"
	inkDetail = "#5a6672"
	inkArrow  = "#5a6672"
	inkBack   = "#a8551c"
	inkFails  = "#c62f2f"
	inkAsks   = "#7a98dd"
	inkFrame  = "#c3ccd4"
	fillFrame = "#fafbfc"
)

// paintOf returns the colours of a style.
func paintOf(s style) paint {
	for _, p := range palette {
		if p.style == s {
			return p
		}
	}
	return paint{s, "#ffffff", inkArrow}
}

// ink returns the colour of an arrow.
func (a arrow) ink() string {
	switch {
	case a.asks:
		return inkAsks
	case a.fails:
		return inkFails
	case a.back:
		return inkBack
	}
	return inkArrow
}
