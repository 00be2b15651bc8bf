package schedule

import (
	_ "embed"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // all zones, even without a time zone database

	"github.com/hocket-run/hocket/diag"
)

// zoneNames are the names of the time zone database, one per line, sorted, as the database does not
// provide a list. They are used only for hints and completion; a zone that is newer than the list
// still loads.
//
//go:embed zones.txt
var zoneNames string

// ZoneNames returns the names of the time zone database, sorted. The caller owns the slice.
func ZoneNames() []string { return strings.Fields(zoneNames) }

// Zone returns the time zone with an IANA name such as `Europe/Berlin` or `UTC`. "" and `local`
// mean local, which may be nil for UTC.
//
// An unknown name results in an *[Error] that suggests the intended name, if there is a likely one.
func Zone(name string, local *time.Location) (*time.Location, error) {
	trimmed := strings.TrimSpace(name)
	if trimmed == "" || strings.EqualFold(trimmed, "local") {
		if local == nil {
			local = time.UTC
		}
		return local, nil
	}
	loc, err := time.LoadLocation(trimmed)
	if err != nil {
		return nil, &Error{CodeUnknownZone, fmt.Sprintf("unknown time zone %q", name), zoneHint(trimmed)}
	}
	return loc, nil
}

// fixed matches an offset as people write it: `+02:00`, `UTC+2`, `GMT-5`.
var fixed = regexp.MustCompile(`^(?i:UTC|GMT)?\s*([+-])\s*0?(1[0-4]|\d)(?::?00)?$`)

func zoneHint(name string) string {
	const example = `use a name of the time zone database, such as "Europe/Berlin", or "UTC"`
	if m := fixed.FindStringSubmatch(name); m != nil {
		if m[2] == "0" {
			return `did you mean "UTC"?`
		}
		// The database counts westward, as POSIX does.
		sign := map[string]string{"+": "-", "-": "+"}[m[1]]
		n, _ := strconv.Atoi(m[2])
		return fmt.Sprintf(`a fixed distance of %s%d hours from UTC is "Etc/GMT%s%d"; a place name is better, since `+
			`it includes changes of the clock`, m[1], n, sign, n)
	}
	names := ZoneNames()
	plain := strings.ReplaceAll(name, " ", "_")
	for _, n := range names {
		if strings.EqualFold(n, plain) {
			return `did you mean "` + n + `"?`
		}
	}
	for _, n := range names {
		if _, city, ok := strings.Cut(n, "/"); ok &&
			(strings.EqualFold(city, plain) || strings.EqualFold(city[strings.LastIndex(city, "/")+1:], plain)) {
			return `did you mean "` + n + `"?`
		}
	}
	if hint := diag.DidYouMean(plain, names); hint != "" {
		return hint
	}
	cities := map[string]string{}
	var list []string
	for _, n := range names {
		city := n[strings.LastIndex(n, "/")+1:]
		if cities[city] == "" {
			cities[city] = n
			list = append(list, city)
		}
	}
	if city := diag.Suggest(plain, list); city != "" && len(plain) > 4 {
		return `did you mean "` + cities[city] + `"?`
	}
	return example
}
