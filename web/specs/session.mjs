// Pages of other origins get nothing with the cookie, their links replace no
// session without a question, servers on two ports keep their sessions apart, and a user whose
// session is revoked is signed out within two seconds (SEC9).
import {mkdtempSync} from 'node:fs'
import {createServer} from 'node:http'
import {join} from 'node:path'
import {caller, check, settled, signIn, until, withPages} from './lib.mjs'
import {hocket, serve} from './server.mjs'

const waits = `workflow:
  - {id: ok, type: approval, prompt: Send it?}
  - {type: end, output: sent}
`

// change is a request that starts a run.
const change = JSON.stringify({format: 'steps', document: 'workflow: [{type: end, output: spied}]', name: ''})

// elsewhere serves an empty page on another port, which is another origin but the same site, to
// which browsers send SameSite cookies.
async function elsewhere() {
  const server = createServer((_, answer) =>
    answer
      .setHeader('Content-Type', 'text/html')
      .end('<!doctype html><title>elsewhere</title><link rel="icon" href="data:,">'),
  )
  await new Promise(done => server.listen(0, '127.0.0.1', done))
  return {port: server.address().port, close: () => server.close()}
}

// attacks are the requests that a foreign page can send, by name. Each settles when the browser has
// received the response or refused to send the request.
const attacks = {
  fetch: origin => fetch(`${origin}/api/v1/runs`, {credentials: 'include'}),
  'fetch with the header': origin =>
    fetch(`${origin}/api/v1/runs`, {credentials: 'include', headers: {'Hocket-Page': '1'}}),
  'opaque fetch': origin => fetch(`${origin}/api/v1/runs`, {credentials: 'include', mode: 'no-cors'}),
  'opaque change': (origin, change) =>
    fetch(`${origin}/api/v1/runs`, {method: 'POST', credentials: 'include', mode: 'no-cors', body: change}),
  'signing out': origin => fetch(`${origin}/api/v1/session`, {method: 'DELETE', credentials: 'include'}),
  image: origin =>
    new Promise((_, fail) => {
      const img = document.createElement('img')
      img.onerror = () => fail(new Error('no image'))
      img.src = `${origin}/api/v1/runs`
      document.body.append(img)
    }),
  script: origin =>
    new Promise((done, fail) => {
      const script = document.createElement('script')
      script.onload = done
      script.onerror = () => fail(new Error('no script'))
      script.src = `${origin}/assets/index.js`
      document.body.append(script)
    }),
  EventSource: origin =>
    new Promise((done, fail) => {
      const source = new EventSource(`${origin}/api/v1/events`, {withCredentials: true})
      source.onmessage = done
      source.onopen = done
      source.onerror = () => fail(new Error('no stream'))
    }),
}

// watchNetwork returns what the network saw of a page's requests to origin, by request, including
// requests whose responses the page cannot read.
async function watchNetwork(page, origin) {
  const cdp = await page.context().newCDPSession(page)
  const seen = new Map()
  const note = (id, more) => seen.set(id, {...seen.get(id), ...more})
  cdp.on(
    'Network.requestWillBeSent',
    e => e.request.url.startsWith(origin) && note(e.requestId, {url: e.request.url, method: e.request.method}),
  )
  cdp.on('Network.requestWillBeSentExtraInfo', e =>
    note(e.requestId, {cookie: e.headers.Cookie ?? e.headers.cookie ?? ''}),
  )
  cdp.on('Network.responseReceivedExtraInfo', e => note(e.requestId, {status: e.statusCode}))
  cdp.on('Network.loadingFailed', e => note(e.requestId, {error: e.errorText + (e.corsErrorStatus?.corsError ?? '')}))
  await cdp.send('Network.enable')
  return seen
}

// foreign performs the attacks from a page of host, and returns the status of each response to a
// request that carried the cookie.
async function foreign(context, origin, host) {
  const page = await context.newPage()
  await page.goto(host)
  const seen = await watchNetwork(page, origin)
  for (const [name, attack] of Object.entries(attacks)) {
    const got = await page.evaluate(
      `(${attack})(${JSON.stringify(origin)}, ${JSON.stringify(change)})` +
        ".then(a => a?.type === 'opaque' ? 'opaque' : 'it got an answer', () => 'refused')",
    )
    check(
      `${name} from ${host} gets nothing`,
      got === 'refused' || (got === 'opaque' && name.startsWith('opaque')),
      got,
    )
  }
  await page.evaluate(at => {
    const frame = document.createElement('iframe')
    frame.src = at
    document.body.append(frame)
    return new Promise(done => {
      frame.onload = done
    })
  }, `${origin}/`)
  for (const f of page.frames().slice(1)) check(`a frame in ${host} is empty`, !f.url().startsWith(origin), f.url())
  // A form navigates the whole window.
  for (const [enctype, body] of [
    ['text/plain', change.slice(0, -2)],
    ['application/x-www-form-urlencoded', 'document'],
  ]) {
    const sender = await context.newPage()
    await sender.goto(host)
    const [answer] = await Promise.all([
      sender.waitForResponse(r => r.url() === `${origin}/api/v1/runs` && r.request().method() === 'POST'),
      sender.evaluate(
        ([at, type, name]) => {
          const form = document.createElement('form')
          form.method = 'post'
          form.action = `${at}/api/v1/runs`
          form.enctype = type
          const field = document.createElement('input')
          field.name = name
          field.value = '"}'
          form.append(field)
          document.body.append(form)
          form.submit()
        },
        [origin, enctype, body],
      ),
    ])
    await sender.close()
    check(`a form of ${host} is refused`, answer.status() === 401 || answer.status() === 403, String(answer.status()))
  }
  const api = () => [...seen.values()].filter(a => a.url?.includes('/api/'))
  await until(`each request from ${host} is over`, () => api().every(a => a.status || a.error), api)
  await page.close()
  check(`${host} was answered`, api().filter(a => a.status).length >= 6, JSON.stringify(api()))
  for (const a of api())
    check(`a request from ${host} is refused`, !a.status || a.status === 401 || a.status === 403, JSON.stringify(a))
  return api()
}

export const spec = (browser, {origin, token, program, home, scratch}) =>
  withPages(browser, origin, async ({open, tab, allow, allowOrigin}) => {
    const api = caller(origin, token)
    const page = await open()
    await signIn(page, origin, token)
    const before = await api('/runs')

    const other = await elsewhere()
    const sameSite = `http://127.0.0.1:${other.port}/`
    const got = await foreign(page.context(), origin, sameSite)
    check(
      'the cookie was sent, and counted for nothing',
      got.filter(a => a.cookie?.includes('hocket_')).length >= 3,
      JSON.stringify(got),
    )
    await foreign(page.context(), origin, `http://localhost:${other.port}/`)
    other.close()
    const after = await api('/runs')
    check('nothing was changed', after.items.length === before.items.length, JSON.stringify(after))

    // The cookie alone can neither read nor change anything, not even from the page's own origin.
    allow(/status of 401/)
    const alone = await page.evaluate(async change => {
      const tries = [
        fetch('/api/v1/runs'),
        fetch('/api/v1/runs', {method: 'POST', headers: {'Content-Type': 'application/json'}, body: change}),
        fetch('/api/v1/session', {method: 'DELETE'}),
      ]
      return (await Promise.all(tries)).map(a => a.status)
    }, change)
    check('the cookie alone is refused', alone.join() === '401,401,401', alone.join())
    await page.reload()
    await page.getByRole('navigation', {name: 'Main'}).waitFor()

    // A link with a code of somebody else asks first.
    const mallory = await api('/tokens', {name: 'mallory', role: 'run'})
    const code = await caller(origin, mallory.token)('/session/codes', {})
    const whoIsIn = () =>
      page.evaluate(() => fetch('/api/v1/session', {headers: {'Hocket-Page': '1'}}).then(a => a.json()))
    for (const [button, want] of [
      [/^Stay signed in as /, 'HOCKET_TOKEN'],
      ['Sign in with the link', 'mallory'],
    ]) {
      await page.goto(`${origin}/?${want}#code=${code.code}`)
      await page.getByRole('heading', {name: 'Sign in again?'}).waitFor()
      check('a link alone replaces no session', (await whoIsIn()).name === 'HOCKET_TOKEN')
      await page.getByRole('button', {name: button}).click()
      await page.getByRole('navigation', {name: 'Main'}).waitFor()
      check(`the session is that of ${want}`, (await whoIsIn()).name === want)
    }

    // Two servers run on two ports of one host, and their pages are signed in at the same time.
    const second = {program, home: mkdtempSync(join(scratch, 'second')), token: `${token}2`}
    const server = await serve(second)
    allowOrigin(server.origin)
    const beside = await tab(page)
    await signIn(beside, server.origin, second.token)
    for (const [at, name] of [
      [page, 'first'],
      [beside, 'second'],
    ]) {
      await at.reload()
      await at.getByRole('navigation', {name: 'Main'}).waitFor()
      check(`the ${name} server keeps its session`, (await at.getByRole('button', {name: 'Sign in'}).count()) === 0)
    }
    const cookies = await page.context().cookies()
    check(
      'each server has a cookie of its own',
      new Set(cookies.map(c => c.name)).size === 2 && cookies.every(c => c.httpOnly && c.sameSite === 'Strict'),
      JSON.stringify(cookies),
    )
    await beside.evaluate(() => fetch('/api/v1/session', {method: 'DELETE', headers: {'Hocket-Page': '1'}}))
    await page.reload()
    await page.getByRole('navigation', {name: 'Main'}).waitFor()
    await beside.close()
    await server.kill()

    // Two tabs are open: one follows a run, and the other shows a list that has no stream of its
    // own.
    const run = await api('/runs?wait=20s', {document: waits, format: 'steps', name: 'letter'})
    for (const how of ['here', 'by another process']) {
      const made = await api('/tokens', {name: `ann ${how}`, role: 'run', approve: true})
      const ann = await open()
      await signIn(ann, origin, made.token)
      const inbox = await tab(ann)
      await ann.goto(`${origin}/runs/${run.id}`)
      await ann.getByRole('link', {name: 'Decide'}).waitFor()
      await inbox.goto(`${origin}/inbox`)
      await settled(inbox)
      const shown = [ann, inbox].map(p => p.getByRole('button', {name: 'Sign in'}).waitFor())
      if (how === 'here') await api(`/tokens/${made.id}`, undefined, 'DELETE')
      else await hocket({program, home}, 'tokens', 'revoke', made.id)
      await Promise.all(shown) // TestSessionEnds of internal/server checks how soon streams end
      check('the run is no longer shown', (await ann.getByText(run.id).count()) === 0)
      await ann.context().close()
    }
  })
