package expr

// Word is a name of the language with a one-line description.
type Word struct {
	Name string `json:"name"`
	Doc  string `json:"doc"`
}

// Words are the names that texts may use in addition to those of the document and of functions, for
// editors.
type Words struct {
	Fields    []Word `json:"fields"`    // of a step: what follows `$steps.ID.`
	Variables []Word `json:"variables"` // without the dollar sign; which are allowed depends on the text's location
	Tokens    []Word `json:"tokens"`    // the content between braces, braces included
}

// WordsOf returns the words, including the variables of a map's items, whose names the caller
// provides.
func WordsOf(item, index string) Words {
	return Words{
		Fields: []Word{
			{fieldNames[FieldOutput], "the last output"},
			{fieldNames[FieldOutputs], "the outputs of the steps of a parallel block, by their ids"},
			{fieldNames[FieldAgent], "the name of the agent that spoke last"},
			{fieldNames[FieldOrder], "the ids of the steps of a parallel block"},
			{"error", "the failure after which the run went on: its code, message and node"},
			{"decision", "the answer to an approval: approve or reject"}, {"note", "the note of that answer"},
			{"stop_reason", "why the agent's answer ended: stop, length (it was cut off) or refusal"},
		},
		Variables: []Word{
			{"steps", "what steps gave"}, {VarInput, "the input of the run"}, {item, "the item of a map"},
			{index, "its place in the list, counted from 0"}, {VarSignal, "the value of a signal, in its filter"},
		},
		Tokens: []Word{{"{{PREVIOUS_OUTPUT}}", "the output that arrived here"},
			{"{{APPROVAL_NOTE}}", "the note of the approval that was answered last"}},
	}
}
