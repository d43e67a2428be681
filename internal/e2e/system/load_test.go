//go:build unix

package system_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// receiver is the partner's webhook endpoint. It accepts everything.
type receiver struct {
	*httptest.Server
	mu       sync.Mutex
	order    map[string][]int64 // events by license, as they came
	times    map[int64]int      // deliveries by event
	last     time.Time
	longest  time.Duration // without a delivery
	counting bool          // deliveries are expected all the time
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{order: map[string][]int64{}, times: map[int64]int{}}
	r.Server = httptest.NewServer(http.HandlerFunc(r.take))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) take(w http.ResponseWriter, req *http.Request) {
	var told struct {
		Event   int64  `json:"event_id"`
		License string `json:"license_key"`
	}
	body, err := io.ReadAll(req.Body)
	if err != nil || json.Unmarshal(body, &told) != nil {
		return
	}
	r.mu.Lock()
	now := time.Now()
	if r.counting {
		r.longest = max(r.longest, now.Sub(r.last))
	}
	r.last = now
	r.order[told.License] = append(r.order[told.License], told.Event)
	r.times[told.Event]++
	r.mu.Unlock()
	_, _ = io.WriteString(w, `{"success":true}`)
}

// count switches the measurement of gaps.
func (r *receiver) count(on bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.counting {
		r.longest = max(r.longest, time.Since(r.last))
	}
	r.last = time.Now()
	r.counting = on
}

// told returns the number of events that came, of those that came twice, and of those that came
// before an earlier event of their license.
func (r *receiver) told() (events, doubled, disordered int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range r.times {
		if n > 1 {
			doubled++
		}
	}
	for _, list := range r.order {
		for i := 1; i < len(list); i++ {
			if list[i] < list[i-1] {
				disordered++
			}
		}
	}
	return len(r.times), doubled, disordered
}

// load calls the service in every way at the same time.
type load struct {
	*testing.T
	card    card
	public  string
	through http.RoundTripper
	back    string // redirect URL of the partner

	stop chan struct{}
	all  sync.WaitGroup

	mu       sync.Mutex
	requests map[string]int
	failures []string
	number   int
}

// begin starts the load and numbers its orders from first; end ends it.
func begin(t *testing.T, c card, public string, through http.RoundTripper, first int) *load {
	l := &load{T: t, card: c, public: public, through: through, stop: make(chan struct{}), requests: map[string]int{}, number: first}
	var profile struct {
		Redirect string `json:"redirect_url"`
	}
	l.decode(l.send(l.client(), "setup", "GET", "/v2/profile", nil, l.card.Partner.APIKey, 200), &profile)
	l.back = profile.Redirect
	l.batch() // the buyer needs a license to connect
	for range 3 {
		l.every(100*time.Millisecond, l.sell)
	}
	l.every(300*time.Millisecond, l.batch)
	visitor := l.client()
	l.connect(visitor) // signs in
	l.every(300*time.Millisecond, func() { l.exchange(visitor) })
	member := l.client()
	l.signIn(member, l.card.Member)
	overview := fmt.Sprintf("/portal/%d/overview", l.card.Partner.ID)
	l.every(200*time.Millisecond, func() { l.send(member, "portal", "GET", overview, nil, "", 200) })
	return l
}

// every calls act at intervals until the end.
func (l *load) every(d time.Duration, act func()) {
	l.all.Go(func() {
		ticker := time.NewTicker(d)
		defer ticker.Stop()
		for {
			act()
			select {
			case <-l.stop:
				return
			case <-ticker.C:
			}
		}
	})
}

func (l *load) end() {
	close(l.stop)
	l.all.Wait()
}

// report returns the number of requests, and fails the test for each that failed.
func (l *load) report() (requests, failed int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, n := range l.requests {
		requests += n
	}
	for i, f := range l.failures {
		if i < 10 {
			l.Error(f)
		}
	}
	l.Logf("requests: %v", l.requests)
	return requests, len(l.failures)
}

// client returns a new client, with cookies and without redirects.
func (l *load) client() *http.Client {
	jar, err := cookiejar.New(nil)
	if err != nil {
		l.Fatal(err)
	}
	return &http.Client{
		Transport: l.through, Jar: jar, Timeout: 20 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// answer is the answer to a request.
type answer struct {
	status int
	to     string // target of a redirect
	body   string
}

// send sends a request: a form, or anything else as JSON. Any other status than those that are
// expected counts as failed.
func (l *load) send(c *http.Client, kind, method, path string, body any, token string, want ...int) answer {
	address := path
	if strings.HasPrefix(path, "/") {
		address = l.public + path
	}
	var text, media string
	switch b := body.(type) {
	case nil:
	case url.Values:
		text = b.Encode()
		media = "application/x-www-form-urlencoded"
	default:
		encoded, err := json.Marshal(b)
		if err != nil {
			l.Error(err)
		}
		text = string(encoded)
		media = "application/json"
	}
	req, err := http.NewRequestWithContext(l.Context(), method, address, strings.NewReader(text))
	if err != nil {
		l.Error(err)
		return answer{}
	}
	req.Header.Set("Content-Type", media)
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	} else {
		req.Header.Set("Accept", "text/html")
		req.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	a, err := do(c, req)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.requests[kind]++
	for _, status := range want {
		if err == nil && a.status == status {
			return a
		}
	}
	l.failures = append(l.failures, fmt.Sprintf("%s %s at %s: %d %v %.300s", kind, path, time.Now().Format(time.TimeOnly), a.status, err, a.body))
	return a
}

func do(c *http.Client, req *http.Request) (a answer, err error) {
	resp, err := c.Do(req)
	if err != nil {
		return a, err
	}
	defer resp.Body.Close() //nolint:errcheck // read
	text, err := io.ReadAll(resp.Body)
	a = answer{resp.StatusCode, resp.Header.Get("Location"), string(text)}
	if found := refresh.FindStringSubmatch(a.body); a.to == "" && found != nil {
		a.to = strings.ReplaceAll(found[1], "&amp;", "&")
	}
	if to, perr := req.URL.Parse(a.to); perr == nil && a.to != "" {
		a.to = to.String()
	}
	return a, err
}

var (
	refresh = regexp.MustCompile(`http-equiv="?refresh"? content="[^"]*url=([^"]*)"`)
	forms   = regexp.MustCompile(`(?s)<form[^>]*action="([^"]*)"[^>]*>(.*?)</form>`)
	inputs  = regexp.MustCompile(`<input[^>]*>`)
	named   = regexp.MustCompile(`name="?([^" >]*)`)
	valued  = regexp.MustCompile(`value="([^"]*)"|value=([^" >]+)`)
)

func (l *load) decode(a answer, v any) {
	if err := json.Unmarshal([]byte(a.body), v); err != nil {
		l.Errorf("%v: %.300s", err, a.body)
	}
}

// signIn signs a person in.
func (l *load) signIn(c *http.Client, who person) {
	form := url.Values{"email": {who.Email}, "password": {who.Password}}
	l.send(c, "sign-in", "POST", "/sign-in", form, "", 303)
}

// connect follows the application's link until it leads back, and returns the code.
func (l *load) connect(c *http.Client) string {
	q := url.Values{
		"response_type": {"code"}, "client_id": {l.card.Partner.ClientID}, "redirect_uri": {l.back},
		"scope": {"openid"}, "state": {"s"}, "nonce": {"n"},
	}
	a := l.send(c, "authorize", "GET", "/openid/authorize?"+q.Encode(), nil, "", 200, 302, 303)
	for range 10 {
		switch {
		case strings.HasPrefix(a.to, l.back):
			back, err := url.Parse(a.to)
			if err != nil || back.Query().Get("code") == "" {
				l.Errorf("authorize leads back to %s", a.to)
				return ""
			}
			return back.Query().Get("code")
		case a.to != "":
			a = l.send(c, "authorize", "GET", a.to, nil, "", 200, 302, 303)
		default:
			a = l.fill(c, a)
		}
		if a.status == 0 {
			return ""
		}
	}
	l.Errorf("the way from authorize does not end: %.2000s", a.body)
	return ""
}

// fill fills in the first form of a page's main part.
func (l *load) fill(c *http.Client, a answer) answer {
	_, main, _ := strings.Cut(a.body, "<main")
	form := forms.FindStringSubmatch(main)
	if form == nil {
		l.Errorf("no form: %d %.500s", a.status, a.body)
		return answer{}
	}
	fields := url.Values{}
	for _, input := range inputs.FindAllString(form[2], -1) {
		name := named.FindStringSubmatch(input)
		if name == nil {
			continue
		}
		fields.Set(name[1], "")
		if value := valued.FindStringSubmatch(input); value != nil {
			fields.Set(name[1], strings.ReplaceAll(value[1]+value[2], "&amp;", "&"))
		}
	}
	if fields.Has("password") {
		fields.Set("email", l.card.Buyer.Email)
		fields.Set("password", l.card.Buyer.Password)
	}
	if fields.Has("license") {
		fields.Set("decision", "allow")
	}
	return l.send(c, "authorize", "POST", strings.ReplaceAll(form[1], "&amp;", "&"), fields, "", 200, 302, 303)
}

// exchange gets a code and exchanges it for tokens.
func (l *load) exchange(c *http.Client) {
	code := l.connect(c)
	if code == "" {
		return
	}
	form := url.Values{
		"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {l.back},
		"client_id": {l.card.Partner.ClientID}, "client_secret": {l.card.Partner.ClientSecret},
	}
	l.send(&http.Client{Transport: l.through, Timeout: 20 * time.Second}, "exchange", "POST", "/openid/token", form, "", 200)
}
