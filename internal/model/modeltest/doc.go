// Package modeltest is for tests: a fake model server that speaks the three protocols, and the suite that every model.Client passes.
//
// [Server] answers Chat Completions, Anthropic's Messages and Gemini's streamGenerateContent from one function of the test's, streamed or
// whole, with faults where the test asks for them. It keeps every request, counts calls and tokens, and knows how many were in
// flight at once, so that a test can compare them with a journal (D8, P14, P20, P31). It is an http.Handler: a test that starts other
// processes serves it where it likes and may read its counts at /__calls.
//
// [Run] is the conformance suite. Its scenarios are distinguished by the user's prompt, and [Conformance] is the function that answers them;
// what answers behind the client under test (a Server, a reply script, another fake) has to answer the same.
//
// Nothing outside of tests imports it.
package modeltest
