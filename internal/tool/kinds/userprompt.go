package kinds

var userPrompt = Kind{
	Name:  "user_prompt",
	Tools: []string{"user_prompt"},
	How:   "toolset in a document or in --tools; the run waits for the answer",
	Gives: "questions to a person",
	Wants: "no",
	Page:  "toolsets/people.md",
}
