// The page works under /hocket/ behind a proxy that strips the prefix or keeps it,
// and at the root.
import {mkdtempSync} from 'node:fs'
import {join} from 'node:path'
import {caller, check, ended, follow, settled, signIn, until, withPages} from './lib.mjs'
import {proxy} from './proxy.mjs'
import {hocket, serve} from './server.mjs'

const document = `workflow:
  - {id: ok, type: approval, prompt: Send it?}
  - {type: end, output: "sent: {{ $input }}"}
`

const cases = [
  {name: 'a path that the proxy takes off', prefix: '/hocket', slash: '/', strip: true},
  {name: 'a path that the proxy leaves', prefix: '/hocket', slash: '', strip: false},
  {name: 'no path', prefix: '', slash: '', strip: false},
]

export async function spec(browser, {token, program, scratch}) {
  for (const c of cases) {
    const home = mkdtempSync(join(scratch, 'below'))
    const before = await proxy(c)
    const address = before.origin + c.prefix
    const server = await serve({program, home, token}, '--url', address + c.slash)
    before.to(server.origin)
    try {
      await play(browser, {...c, token, program, home, origin: before.origin, address})
    } catch (err) {
      throw new Error(`${c.name}: ${err.message}`, {cause: err})
    } finally {
      before.close()
      await server.kill()
    }
  }
}

const play = (browser, {name, prefix, token, program, home, origin, address}) =>
  withPages(browser, origin, async ({open, tab, requests, allow}) => {
    const api = caller(address, token)
    const made = await fetch(`${address}/api/v1/runs?wait=20s`, {
      method: 'POST',
      headers: {Authorization: `Bearer ${token}`, 'Content-Type': 'application/json'},
      body: JSON.stringify({document, format: 'steps', name: 'letter', input: 'Ada'}),
    })
    const run = await made.json()
    const at = made.headers.get('Location')
    const there = await fetch(new URL(at, made.url), {headers: {Authorization: `Bearer ${token}`}})
    check(
      `Location leads to the run with ${name}`,
      there.ok && (await there.json()).id === run.id,
      `${at}: ${there.status}`,
    )

    // `hocket open --server` accepts an address with a path.
    const remote = (await hocket({program, home, token}, 'open', '--print', '--server', `${address}/`)).trim()
    check('the link of a server below a path is below it', remote.startsWith(`${address}/#code=`), remote)

    // The page is opened with the link of `hocket open`, which reads the public address from the
    // store.
    await api('/tokens', {name: 'ann', role: 'admin', approve: true})
    const link = (await hocket({program, home}, 'open', '--print')).trim()
    check('the link is below the address', link.startsWith(`${address}/#code=`), link)
    const page = await open()
    await follow(page, link)
    await page.getByRole('navigation', {name: 'Main'}).waitFor()
    check('the page is below the path', page.url() === `${address}/`, page.url())
    const [cookie] = await page.context().cookies()
    check('the cookie is for the path alone', cookie.path === (prefix || '/'), JSON.stringify(cookie))

    // The spec visits the page through its links, and loads each of its addresses again.
    const main = page.getByRole('navigation', {name: 'Main'})
    for (const [place, path] of [
      ['Runs', '/runs'],
      ['Inbox', '/inbox'],
      ['Workflows', '/workflows'],
    ]) {
      await main.getByRole('link', {name: place}).click()
      await until(
        `${place} has its address`,
        () => page.url().startsWith(address + path),
        () => page.url(),
      )
      await settled(page)
      await page.reload()
      await settled(page)
      check(`${place} keeps its address`, page.url().startsWith(address + path), page.url())
    }
    const watcher = await tab(page)
    await watcher.goto(`${address}/runs/${run.id}`)
    await watcher.locator('.react-flow__node').first().waitFor()
    await watcher.getByRole('link', {name: 'Decide'}).click()
    await watcher.getByRole('button', {name: 'Approve'}).click()
    check('the run completes', (await ended(api, run.id)).status === 'completed')
    await watcher.goto(`${address}/runs/${run.id}?tab=events`)
    await watcher.getByText('sent: Ada').first().waitFor()
    await watcher.keyboard.press('?')
    const licences = await watcher.getByRole('link', {name: /^Licences/}).getAttribute('href')
    check(
      'the licences are below the path',
      licences === `${prefix}/licences.txt` && (await fetch(origin + licences)).ok,
      licences,
    )

    // The page itself shows that an address is unknown, including under the path prefix.
    allow(/status of 404/)
    await watcher.goto(`${address}/nothing/here?x=1`)
    await watcher.getByRole('heading', {name: 'There is no page at this address'}).waitFor()
    await watcher.getByRole('link', {name: 'Go to the runs'}).click()
    await settled(watcher)
    check('it leads back', watcher.url() === `${address}/runs`, watcher.url())

    const other = await open()
    await signIn(other, address, token)
    const outside = requests
      .map(r => new URL(r.url))
      .filter(u => u.origin === origin && !u.pathname.startsWith(`${prefix}/`))
    check('every request is below the path', outside.length === 0 && requests.length > 20, outside.join())
  })
