package search

import (
	"bytes"
	"context"
	"encoding/json"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// Query is a search query.
type Query struct {
	Text string
	// Count is the number of results wanted, at least 1.
	Count int
	// Freshness is day, week, month or year; empty means any time.
	Freshness string
	// Site is the host that results must belong to; empty means any.
	Site string
}

// Hit is one search result.
type Hit struct {
	Title   string `json:"title"`
	URL     string `json:"url"`
	Snippet string `json:"snippet,omitempty"`
	Date    string `json:"date,omitempty"`
}

// provider writes requests to one search service and parses its responses.
type provider struct {
	// base is the default address; "" means that the operator must configure it.
	base string
	// keyEnv and urlEnv are the variables that conventionally hold its key and its address; ""
	// means that it has none.
	keyEnv, urlEnv string
	request        func(ctx context.Context, base, key string, q Query) (*http.Request, error)
	hits           func(body []byte) ([]Hit, error)
}

// order is the order in which providers are looked for if none is named.
var order = []string{"tavily", "brave", "searxng"}

var providers = map[string]provider{
	"tavily":  {base: "https://api.tavily.com", keyEnv: "TAVILY_API_KEY", request: tavilyRequest, hits: tavilyHits},
	"brave":   {base: "https://api.search.brave.com", keyEnv: "BRAVE_API_KEY", request: braveRequest, hits: braveHits},
	"searxng": {urlEnv: "SEARXNG_URL", request: searxngRequest, hits: searxngHits},
}

func tavilyRequest(ctx context.Context, base, key string, q Query) (*http.Request, error) {
	body := map[string]any{"query": q.Text, "max_results": q.Count}
	if q.Freshness != "" {
		body["time_range"] = q.Freshness
	}
	if q.Site != "" {
		body["include_domains"] = []string{q.Site}
	}
	data, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/search", bytes.NewReader(data))
	if err == nil {
		req.Header.Set("Authorization", "Bearer "+key)
		req.Header.Set("Content-Type", "application/json")
	}
	return req, err
}

// listed is one result as encoded by Tavily and SearXNG.
type listed struct {
	Title   string `json:"title"`
	URL     string `json:"url"`
	Content string `json:"content"`
	Date    string `json:"published_date"`
	Date2   string `json:"publishedDate"`
}

func tavilyHits(body []byte) ([]Hit, error) {
	var a struct {
		Results []listed `json:"results"`
	}
	if err := json.Unmarshal(body, &a); err != nil {
		return nil, err
	}
	out := make([]Hit, len(a.Results))
	for i, r := range a.Results {
		out[i] = Hit{r.Title, r.URL, r.Content, r.Date + r.Date2}
	}
	return out, nil
}

func braveRequest(ctx context.Context, base, key string, q Query) (*http.Request, error) {
	v := url.Values{"q": {withSite(q)}, "count": {strconv.Itoa(q.Count)}}
	if q.Freshness != "" {
		v.Set("freshness", "p"+q.Freshness[:1])
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/res/v1/web/search?"+v.Encode(), http.NoBody)
	if err == nil {
		req.Header.Set("X-Subscription-Token", key)
	}
	return req, err
}

func braveHits(body []byte) ([]Hit, error) {
	var a struct {
		Web struct {
			Results []struct {
				Title       string `json:"title"`
				URL         string `json:"url"`
				Description string `json:"description"`
				PageAge     string `json:"page_age"`
			} `json:"results"`
		} `json:"web"`
	}
	if err := json.Unmarshal(body, &a); err != nil {
		return nil, err
	}
	var out []Hit
	for _, r := range a.Web.Results {
		out = append(out, Hit{r.Title, r.URL, r.Description, r.PageAge})
	}
	return out, nil
}

func searxngRequest(ctx context.Context, base, _ string, q Query) (*http.Request, error) {
	v := url.Values{"q": {withSite(q)}, "format": {"json"}}
	if q.Freshness != "" {
		v.Set("time_range", q.Freshness)
	}
	return http.NewRequestWithContext(ctx, http.MethodGet, base+"/search?"+v.Encode(), http.NoBody)
}

func searxngHits(body []byte) ([]Hit, error) { return tavilyHits(body) }

func withSite(q Query) string {
	if q.Site == "" {
		return q.Text
	}
	return "site:" + q.Site + " " + q.Text
}

var tags = regexp.MustCompile(`<[^<>]{0,100}>`)

// plain strips the markup of providers and returns plain text on one line. Text longer than limit
// bytes is cut there and ends with "...".
func plain(s string, limit int) string {
	s = strings.Join(strings.Fields(html.UnescapeString(tags.ReplaceAllString(s, ""))), " ")
	if len(s) > limit {
		s = strings.ToValidUTF8(s[:limit], "") + "..."
	}
	return s
}
