// This module contains the functions that all specs share: they open pages that must not report
// errors or send requests to another origin.
import {chromium} from 'playwright-core'

// isLong reports whether `make test-all` runs the specs, with all themes, all widths and every
// place.
export const isLong = Boolean(process.env.HOCKET_LONG)

export const check = (what, ok, more = '') => {
  if (!ok) throw new Error(`${what} ${more}`)
}

// launch starts a browser.
export const launch = executablePath =>
  chromium.launch({executablePath, args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage']})

// withBrowser is withPages in a browser of its own.
export async function withBrowser(path, origin, f) {
  const browser = await launch(path)
  try {
    await withPages(browser, origin, f)
  } finally {
    await browser.close()
  }
}

// withPages calls f with functions that open pages: open opens a page with its own session, tab
// opens another page in the same session. It fails if a page has an error on the console, violates
// the policy or sends a request to another origin. It closes all pages at the end.
export async function withPages(browser, origin, f) {
  const contexts = []
  const complaints = []
  const requests = []
  const allowed = []
  const origins = [origin]
  try {
    const tab = async context => {
      const page = await context.newPage()
      await page.addInitScript(() => {
        document.addEventListener('securitypolicyviolation', e =>
          console.error(`policy: ${e.violatedDirective} ${e.blockedURI}`),
        )
      })
      page.on(
        'console',
        m =>
          m.type() === 'error' && !allowed.some(a => a.test(m.text())) && complaints.push(`${page.url()}: ${m.text()}`),
      )
      page.on('pageerror', e => complaints.push(`${page.url()}: ${e}`))
      page.on('dialog', d => {
        complaints.push(`a dialog: ${d.message()}`)
        void d.dismiss()
      })
      page.on('popup', () => complaints.push('a window was opened'))
      page.on('request', r => {
        requests.push({url: r.url(), referer: r.headers().referer ?? ''})
        const at = new URL(r.url())
        if (!origins.includes(at.origin) && at.protocol !== 'data:' && at.protocol !== 'blob:')
          complaints.push(`a request to ${r.url()}`)
      })
      return page
    }
    const open = async (options = {}) => {
      const context = await browser.newContext({
        viewport: {width: 1280, height: 800},
        reducedMotion: 'reduce',
        ...options,
      })
      contexts.push(context)
      context.setDefaultTimeout(60_000)
      return tab(context)
    }
    await f({
      open,
      tab: page => tab(page.context()),
      requests,
      allow: re => allowed.push(re),
      allowOrigin: o => origins.push(o),
    })
    if (complaints.length > 0) throw new Error(`the page complains:\n${[...new Set(complaints)].join('\n')}`)
  } finally {
    await Promise.all(contexts.map(c => c.close()))
  }
}

export async function signIn(page, origin, token) {
  await page.goto(`${origin}/`)
  await page.getByLabel('Token').fill(token)
  await page.getByRole('button', {name: 'Sign in'}).click()
  await page.getByRole('navigation', {name: 'Main'}).waitFor()
}

// follow opens a link with a one-time code and confirms with the keyboard that it signs in. Until then
// nobody is signed in.
export async function follow(page, link) {
  await page.goto(link)
  await page.getByRole('heading', {name: /^Sign in to /}).waitFor()
  check('a link alone signs nobody in', (await page.context().cookies()).length === 0)
  await reach(page, page.getByRole('button', {name: 'Sign in with the link'}))
  await page.keyboard.press('Enter')
}

// enter creates a session in the browser of a page, as signing in does, without loading the page.
export async function enter(page, origin, token) {
  const answer = await page.request.post(`${origin}/api/v1/session`, {
    headers: {'Hocket-Page': '1', Authorization: `Bearer ${token}`},
  })
  check('a session is given', answer.ok(), await answer.text())
  await page.context().addInitScript(() => localStorage.setItem('hocket-signed-in', '1')) // as signing in does
}

// caller returns a function that calls the API.
export const caller =
  (origin, token) =>
  async (path, body, method = body ? 'POST' : 'GET') => {
    const answer = await fetch(`${origin}/api/v1${path}`, {
      method,
      headers: {Authorization: `Bearer ${token}`, 'Content-Type': 'application/json'},
      ...(body ? {body: JSON.stringify(body)} : {}),
    })
    const text = await answer.text()
    check(`${path} is answered`, answer.ok, text)
    return text ? JSON.parse(text) : null
  }

// ended waits until a run has ended and returns it.
export async function ended(api, id) {
  for (;;) {
    const run = await api(`/runs/${id}`)
    if (run.endedAt) return run
    await new Promise(done => setTimeout(done, 100))
  }
}

// settled waits until the page shows its heading or an error, and nothing is loading.
export async function settled(page) {
  await page.locator('main :is(h1, h2, [role=alert])').first().waitFor()
  await page
    .getByText(/^Loading /)
    .first()
    .waitFor({state: 'detached'})
}

// until polls for up to a minute until a condition holds; said returns the observed state for the
// error message.
export async function until(what, is, said = () => '') {
  for (const end = performance.now() + 60_000; !(await is()); await new Promise(done => setTimeout(done, 20)))
    check(what, performance.now() < end, JSON.stringify(await said()))
}

// pick selects an option of a list with the keyboard, by its value or its label.
export async function pick(page, list, want) {
  await reach(page, list)
  await page.keyboard.press('Home')
  const isChosen = () => list.evaluate((e, w) => e.value === w || e.selectedOptions[0].label === w, want)
  for (let n = 0; !(await isChosen()); n++) {
    check(`there is ${want} to choose`, n < 20)
    await page.keyboard.press('ArrowDown')
  }
}

// reach presses a key until an element has the focus, as a user without a mouse does.
export async function reach(page, locator, key = 'Tab', most = 300) {
  await locator.first().waitFor()
  for (let i = 0; i <= most; i++) {
    if (await locator.first().evaluate(e => e === document.activeElement)) return
    await page.keyboard.press(key)
  }
  const focus = await page.evaluate(() => document.activeElement?.outerHTML.slice(0, 200))
  throw new Error(`${key} does not lead to ${locator}; the focus is on ${focus}`)
}
