// Done-when 4 (P36): after each event the views of an open page are those of a fresh load, and an open page catches up by itself with a server that was killed.
import {writeFileSync} from 'node:fs'
import {join} from 'node:path'
import {caller, check, ended, settled, signIn, until, withBrowser} from './lib.mjs'
import {meter, proxy} from './proxy.mjs'
import {serve} from './server.mjs'

const document = `agents:
  writer: {model: openai/m, instruction: Write a headline., sub_agents: [guide]}
  guide: {model: openai/m, description: knows the hours, instruction: Say when.}
  style: {model: openai/m, instruction: Judge the style.}
  facts: {model: openai/m, instruction: Judge the facts.}
  chief:
    model: openai/m
    instruction: Decide.
    structured_output: {name: verdict, schema: {type: object, required: [score], properties: {score: {type: number}}}}
  printer: {model: openai/m, instruction: Repeat the headline.}
workflow:
  max_loop_iterations: 3
  steps:
    - {id: draft, type: agent, name: writer, retry: {max_attempts: 2, backoff: {type: fixed, initial_delay_seconds: 0}, on: [rate_limit]}}
    - {id: checks, type: parallel, steps: [{id: style, type: agent, name: style}, {id: facts, type: agent, name: facts}]}
    - {id: verdict, type: agent, name: chief}
    - {id: good_enough, type: condition, condition: "{{ $steps.verdict.output.score >= 0.8 }}", "false": draft}
    - {id: ok, type: approval, prompt: Print it?}
    - {id: print, type: agent, name: printer}
    - {id: sure, type: approval, prompt: Is it right?}
`

const replies = `replies:
  - {agent: writer, error: {code: rate_limit, message: slow down}}
  - {agent: writer, toolCalls: [{name: transfer_task_guide, arguments: {input: When is it open}}]}
  - {agent: guide, text: On Sundays}
  - {agent: writer, text: Library open}
  - {agent: style, text: Too short., times: 2}
  - {agent: facts, text: True., times: 2}
  - {agent: chief, json: {score: 0.5}}
  - {agent: writer, text: Library opens on Sundays}
  - {agent: chief, json: {score: 0.9}}
  - {agent: printer, text: Library opens on Sundays}
`

const folded = ['Graph', 'Timeline', 'Steps', 'Events']
const tall = {viewport: {width: 1280, height: 6000}}

const eventsOf = page =>
  page
    .getByRole('tab', {name: /^Events/})
    .textContent()
    .then(t => Number(t.replace('Events', '')))

// picture is what a page shows of a run: the elements of its main part with their texts, states, names and classes.
const picture = page =>
  page.evaluate(() => {
    const told = [
      'role',
      'title',
      'class',
      'href',
      'd',
      'disabled',
      'open',
      'data-id',
      'aria-label',
      'aria-selected',
      'aria-expanded',
      'aria-current',
      'aria-valuenow',
    ]
    // Where an edge of the graph is drawn was measured on the screen: it differs by small parts of a pixel.
    const tells = (node, a) => node.hasAttribute(a) && !(a === 'd' && node.matches('.react-flow__edges *'))
    const lines = []
    const walk = (node, depth) => {
      if (node.nodeType === Node.TEXT_NODE) lines.push(' '.repeat(depth) + node.data)
      if (node.nodeType !== Node.ELEMENT_NODE) return
      lines.push(`${' '.repeat(depth)}<${[node.localName, ...told.filter(a => tells(node, a)).map(a => `${a}=${node.getAttribute(a)}`)].join(' ')}>`)
      for (const child of node.childNodes) walk(child, depth + 1)
    }
    walk(window.document.querySelector('main'), 0)
    return lines
  })

const differ = (a, b) => {
  const at = a.findIndex((line, i) => line !== b[i])
  const near = lines => lines.slice(Math.max(0, at - 4), at + 5).join('\n')
  return a.length === b.length && at < 0 ? '' : `live, of ${a.length} lines:\n${near(a)}\nfresh, of ${b.length}:\n${near(b)}`
}

async function equal(what, live, fresh) {
  let why = ''
  for (const end = performance.now() + 20_000; ; ) {
    why = differ(await picture(live), await picture(fresh))
    if (!why || performance.now() > end) break
  }
  check(`${what}: the live view is that of a fresh load`, !why, why)
}

const show = (page, tab) => page.getByRole('tab', {name: new RegExp(`^${tab}`)}).click()

export async function spec(chromium, {token, program, scratch, soak}) {
  const file = join(scratch, 'replies.yaml')
  writeFileSync(file, replies)
  const begin = addr => serve({program, home: scratch, token, addr}, '--replies', file)
  let server = await begin()
  const events = meter()
  const before = await proxy({events})
  before.to(server.origin)
  try {
    await withBrowser(chromium, server.origin, async ({open, tab, allow, allowOrigin}) => {
      allowOrigin(before.origin)
      const api = caller(server.origin, token)
      const run = await api('/runs?wait=20s', {document, format: 'steps', name: 'headline', input: 'Sunday'})
      check('the run waits', run.status === 'paused', JSON.stringify(run.error))
      const path = `/runs/${run.id}?tab=`
      const onServer = async () => (await api(`/runs/${run.id}/events?limit=1000`)).items

      // Each page has a session of its own, so that each has a stream.
      const now = new Date()
      const pages = {}
      const enter = async origin => {
        const page = await open(tall)
        await page.clock.setFixedTime(now)
        await signIn(page, origin, token)
        return page
      }
      events.open(1)
      for (const name of folded) {
        pages[name] = await enter(before.origin)
        await pages[name].goto(before.origin + path + name.toLowerCase())
        await settled(pages[name])
      }
      const loader = await enter(before.origin)
      // All views after each event are for the long form (make soak); else they take turns, and all are compared where the run waits and at its end.
      const compare = async (n, isLast) => {
        await loader.goto(`${before.origin + path}graph`)
        for (const name of soak || isLast ? folded : [folded[n % folded.length]]) {
          await show(loader, name)
          for (const p of [loader, pages[name]])
            await until(
              `a page has ${n} events`,
              async () => (await eventsOf(p)) === n,
              () => eventsOf(p),
            )
          await equal(`event ${n}, ${name}`, pages[name], loader)
        }
      }
      const paused = (await onServer()).length
      for (let n = 1; n <= paused; n++) {
        events.open(n)
        await compare(n, n === paused)
      }

      // The server is killed while the run waits, and once more when it has just gone on.
      const watcher = await enter(server.origin)
      await watcher.goto(`${server.origin + path}events`)
      await settled(watcher)
      await watcher.getByLabel(/also edges/).check()
      allow(/net::ERR_(CONNECTION|EMPTY_RESPONSE|INCOMPLETE|SOCKET_NOT_CONNECTED)/)
      const lost = watcher.getByText('The connection is lost')
      const restart = async () => {
        const {host} = new URL(server.origin)
        await server.kill()
        await lost.waitFor()
        server = await begin(host)
        await lost.waitFor({state: 'detached'})
      }
      await restart()
      const approve = wait => api(`/runs/${run.id}/resume`, {wait, decision: 'approve', note: 'good'})
      await approve(run.waiting[0].id)
      await restart()
      const waitsAgain = async () => (await api(`/runs/${run.id}`)).waiting?.find(w => w.node === 'sure')
      await until('the run waits again', waitsAgain)
      await approve((await waitsAgain()).id)
      const {status} = await ended(api, run.id)
      check('the run completes', status === 'completed', status)
      const all = await onServer()
      await until(
        'the page that was open has all events',
        async () => (await eventsOf(watcher)) === all.length,
        () => eventsOf(watcher),
      )
      const rows = await watcher.getByRole('list', {name: 'Events'}).getByRole('listitem').allTextContents()
      const numbers = rows.map(r => Number.parseInt(r, 10))
      check('each event is there once', rows.length === all.length && all.every((e, i) => rows[i].startsWith(String(e.seq))), `${numbers}`)
      const fresh = await tab(watcher)
      await fresh.clock.setFixedTime(now)
      await fresh.goto(`${server.origin + path}events`)
      for (const name of [...folded, 'Log', 'Trail', 'Context']) {
        await show(watcher, name)
        await show(fresh, name)
        await equal(`after the server was killed, ${name}`, watcher, fresh)
      }

      // What came after the answer, one by one.
      for (let n = paused + 1; n <= all.length; n++) {
        events.open(n)
        await compare(n, n === all.length)
      }
      console.error(`${all.length} events`)
    })
  } finally {
    before.close()
    await server.kill()
  }
}
