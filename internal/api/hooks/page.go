package hooks

import (
	"net/url"
	"time"

	"github.com/hocket-run/hocket/internal/api/hooks/markup"
	"github.com/hocket-run/hocket/workflow"
)

// render returns the page of a view as HTML.
func render(v view) string {
	p := &canvas{}
	p.HTML(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex, nofollow">
<title>`)
	p.Text(v.Title)
	p.HTML(`</title>
<link rel="stylesheet" href="/approve/-/style.css">
</head>
<body>
<main>
<header><span class="mark">hocket</span></header>
<h1>`)
	p.visible(v.Title)
	p.HTML("</h1>\n")
	if v.Ask != nil {
		p.question(v.Ask)
	} else {
		p.outcome(v)
	}
	p.HTML("</main>\n</body>\n</html>\n")
	return p.String()
}

// canvas is a page with the building blocks of the confirmation page.
type canvas struct{ markup.Page }

// visible writes a string with hidden characters shown as escapes.
func (p *canvas) visible(text string) {
	for _, piece := range pieces(text) {
		if !piece.Escaped {
			p.Text(piece.Text)
			continue
		}
		p.HTML(`<span class="esc">`)
		p.Text(piece.Text)
		p.HTML("</span>")
	}
}

// outcome writes what happened, if there is nothing left to decide.
func (p *canvas) outcome(v view) {
	switch {
	case v.Good:
		p.HTML(`<p class="good">`)
	case v.Bad:
		p.HTML(`<p class="bad">`)
	default:
		p.HTML(`<p class="note">`)
	}
	p.visible(v.Message)
	p.HTML("</p>\n")
	if v.Detail != "" {
		p.HTML(`<p class="detail">`)
		p.visible(v.Detail)
		p.HTML("</p>\n")
	}
}

// question writes the question, the form that answers it, and the facts about the wait.
func (p *canvas) question(a *openWait) {
	if a.Problem != "" {
		p.HTML(`<p class="bad" role="alert">`)
		p.visible(a.Problem)
		p.HTML("</p>\n")
	}
	if a.Prompt != "" {
		p.HTML(`<section class="prompt">`)
		p.visible(a.Prompt)
		p.HTML("</section>\n")
	}
	if a.About != "" {
		p.HTML("<section class=\"call\">\n<h2>")
		if a.Kind == workflow.WaitApproval {
			p.HTML("To be approved")
		} else {
			p.HTML("Context")
		}
		p.HTML("</h2>\n")
		p.pre(a.About)
		p.HTML("\n</section>\n")
	}
	if a.Tool != "" {
		p.call(a)
	}
	p.form(a)
	p.facts(a)
}

// pre writes preformatted text. Parsers drop a line break after the tag, so an additional one is
// written.
func (p *canvas) pre(text string) {
	p.HTML("<pre>\n")
	p.visible(text)
	p.HTML("</pre>")
}

// call writes the tool call that needs approval, or that asked the question.
func (p *canvas) call(a *openWait) {
	p.HTML("<section class=\"call\">\n<h2>")
	if len(a.Options) > 0 {
		p.HTML("This call needs your approval")
	} else {
		p.HTML("The question")
	}
	p.HTML("</h2>\n<p class=\"tool\"><code>")
	p.visible(a.Tool)
	p.HTML("</code></p>\n")
	if a.Arguments != "" {
		p.pre(a.Arguments)
	} else {
		p.HTML(`<p class="quiet">without arguments</p>`)
	}
	if a.Changed {
		p.HTML("\n<p class=\"warn\">The definition of this tool has changed since the run began. Approving accepts " +
			"the new definition.</p>")
	}
	if a.Editable {
		p.HTML("\n<p class=\"quiet\">To change the arguments, answer elsewhere: on the page of the server, or with " +
			"<code>hocket resume ")
		p.visible(a.Run)
		p.HTML(" --approve --arguments @FILE</code>.</p>")
	}
	p.HTML("\n</section>\n")
}

// form writes the form that submits the answer.
func (p *canvas) form(a *openWait) {
	p.HTML(`<form method="post" action="/approve/`)
	p.Text(url.PathEscape(a.Token))
	p.HTML("\" autocomplete=\"off\">\n<input type=\"hidden\" name=\"token\" value=\"")
	p.Text(a.Token)
	// Enter in a field presses the first button of a form: this one, which does nothing, rather
	// than Approve.
	p.HTML("\">\n<button type=\"submit\" disabled hidden></button>\n")
	switch {
	case len(a.Fields) > 0:
		p.fields(a.Fields, len(a.Options) == 0)
		p.schema(a)
	case a.Text:
		p.HTML("<label for=\"answer\">Your answer</label>\n<textarea id=\"answer\" name=\"answer\" rows=\"4\" " +
			"maxlength=\"8000\"")
		if len(a.Options) == 0 {
			p.HTML(" required")
		}
		p.HTML(">\n")
		p.Text(a.Answer)
		p.HTML("</textarea>\n")
		p.schema(a)
	}
	p.HTML("<label for=\"note\">Note <span class=\"quiet\">(optional)</span></label>\n<input id=\"note\" " +
		"name=\"note\" type=\"text\" maxlength=\"1000\" value=\"")
	p.Text(a.Note)
	p.HTML("\">\n<div class=\"buttons\">\n")
	for _, c := range a.Options {
		p.HTML(`<button type="submit" name="` + optionButton + `" value="`)
		p.Text(c.Value)
		if c.Class != "" {
			p.HTML(`" class="`)
			p.Text(c.Class)
		}
		p.HTML(`">`)
		p.visible(c.Label)
		p.HTML("</button>\n")
	}
	if a.Text {
		p.HTML("<button type=\"submit\" name=\"" + sendButton + "\" value=\"1\" class=\"yes\">Send</button>\n")
	}
	p.HTML("</div>\n</form>\n")
}

// schema writes the schema that the answer must match, for readers who want to see it.
func (p *canvas) schema(a *openWait) {
	if a.Schema == "" {
		return
	}
	p.HTML("<details><summary>JSON Schema of the answer</summary>")
	p.pre(a.Schema)
	p.HTML("</details>\n")
}

// facts writes where the wait is and how long it is open.
func (p *canvas) facts(a *openWait) {
	p.HTML("<dl>\n")
	if a.Workflow != "" {
		p.HTML("<dt>Workflow</dt><dd>")
		p.visible(a.Workflow)
		p.HTML("</dd>\n")
	}
	p.HTML("<dt>Step</dt><dd>")
	p.visible(a.Node)
	p.HTML("</dd>\n<dt>Run</dt><dd><code>")
	p.visible(a.Run)
	p.HTML("</code></dd>\n<dt>Asked</dt><dd>")
	p.when(a.Since)
	if !a.Deadline.IsZero() {
		p.HTML("</dd>\n<dt>Deadline</dt><dd>")
		p.when(a.Deadline)
	}
	p.HTML("</dd>\n<dt>Link ends</dt><dd>")
	p.when(a.Expires)
	p.HTML("</dd>\n</dl>\n")
}

func (p *canvas) when(t time.Time) { p.Text(when(t)) }
