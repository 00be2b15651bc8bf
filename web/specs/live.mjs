// After each event (with make test-all; with make test, at every tenth event and
// wherever the run stands still), each view of an open page equals that of a new page load, and
// open pages catch up by themselves with a server that was killed (P36).
//
// A page is open at each view that is drawn from the run's events, from the first event on. A proxy
// passes the events on one by one. After each event another page, which has no data of the run,
// opens it and visits these views, and each is compared with the page that is open there: all
// elements of the main part, with their text, names and states. The log, the trail and the context
// are requested from the server, which knows no earlier state of a run: they are compared wherever
// the run stands still, at each model call and at each wait, for which the model's replies are held
// back. There the other page is loaded again; in between it only leaves the run and returns, which
// drops everything of the run but not the scripts.
import {caller, check, ended, enter, isLong, settled, until, withPages} from './lib.mjs'
import {model} from './model.mjs'
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
    - id: draft
      type: agent
      name: writer
      retry: {max_attempts: 2, backoff: {type: fixed, initial_delay_seconds: 0}, on: [rate_limit]}
    - id: checks
      type: parallel
      steps: [{id: style, type: agent, name: style}, {id: facts, type: agent, name: facts}]
    - {id: verdict, type: agent, name: chief}
    - {id: good_enough, type: condition, condition: "{{ $steps.verdict.output.score >= 0.8 }}", "false": draft}
    - {id: ok, type: approval, prompt: Print it?}
    - {id: print, type: agent, name: printer}
    - {id: sure, type: approval, prompt: Is it right?}
`

// replies are the replies of the model, used in turn, by a word of the instruction. The last one is
// repeated.
const replies = {
  'Write a headline': [
    {status: 429, error: 'slow down'},
    {tool: {name: 'transfer_task_guide', arguments: {input: 'When is it open'}}},
    {text: 'Library open'},
    {text: 'Library opens on Sundays'},
  ],
  'Say when': [{text: 'On Sundays'}],
  'Judge the style': [{text: 'Too short.'}],
  'Judge the facts': [{text: 'True.'}],
  Decide: [{text: '{"score": 0.5}'}, {text: '{"score": 0.9}'}],
  'Repeat the headline': [{text: 'Library opens on Sundays'}],
}

function reply(system) {
  const [, list] = Object.entries(replies).find(([word]) => system.includes(word)) ?? []
  check('the model knows who asks', list !== undefined, system)
  return list.length > 1 ? list.shift() : list[0]
}

// rests are the points at which the run stands still: the given number of calls is held, or the run
// waits for a person. kill means that the server is killed and restarted there.
const rests = [
  ...[1, 1, 1, 1, 2, 1, 1, 1, 2, 1, 1].map(held => ({held})),
  {wait: 'ok', kill: true},
  {held: 1, kill: true}, // the call is made again
  {wait: 'sure'},
]

const foldedViews = ['Graph', 'Timeline', 'Steps', 'Conversation', 'Events']
const serverViews = ['Log', 'Trail', 'Context']
const tall = {viewport: {width: 1280, height: 6000}}

// picture selects a view of a run if `name` is not empty, waits until the page has n events there,
// and returns the number of events and the content of the page: the elements of its main part with
// their text, states, names and classes. All of this is one request to the browser, which checks
// again when something has changed.
const picture = (page, n, name = '') =>
  page.evaluate(
    async ([n, name]) => {
      const main = () => window.document.querySelector('main')
      const tab = name => [...(main()?.querySelectorAll('[role=tab]') ?? [])].find(t => t.textContent.startsWith(name))
      const events = () => Number(tab('Events')?.textContent.replace('Events', '') ?? 0)
      const isReady = () => {
        if (events() !== n) return false
        if (!name) return true
        const to = tab(name)
        if (to.ariaSelected !== 'true') {
          to.click()
          return false
        }
        if (name !== 'Events') return true
        const edges = [...main().querySelectorAll('label')]
          .find(l => /also edges/.test(l.textContent))
          ?.querySelector('input')
        if (edges && !edges.checked) edges.click()
        return edges?.checked
      }
      await new Promise(done => {
        const look = () => {
          if (!isReady()) return
          clearTimeout(over)
          observer.disconnect()
          done()
        }
        const observer = new MutationObserver(look)
        const over = setTimeout(done, 60_000)
        observer.observe(window.document.body, {subtree: true, childList: true, characterData: true, attributes: true})
        look()
      })
      const attributes = [
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
      // The path of an edge in the graph was measured on the screen, so it differs by fractions of
      // a pixel.
      const isCompared = (node, a) => node.hasAttribute(a) && !(a === 'd' && node.matches('.react-flow__edges *'))
      const lines = []
      const walk = (node, depth) => {
        if (node.nodeType === Node.TEXT_NODE) lines.push(' '.repeat(depth) + node.data)
        if (node.nodeType !== Node.ELEMENT_NODE) return
        const values = attributes.filter(a => isCompared(node, a)).map(a => `${a}=${node.getAttribute(a)}`)
        lines.push(`${' '.repeat(depth)}<${[node.localName, ...values].join(' ')}>`)
        for (const child of node.childNodes) walk(child, depth + 1)
      }
      walk(main(), 0)
      return {events: events(), ready: isReady() === true, text: lines.join('\n')}
    },
    [n, name],
  )

const differ = (one, other) => {
  const [a, b] = [one.split('\n'), other.split('\n')]
  const at = a.findIndex((line, i) => line !== b[i])
  const near = lines => lines.slice(Math.max(0, at - 4), at + 5).join('\n')
  return `live, of ${a.length} lines:\n${near(a)}\nfresh, of ${b.length}:\n${near(b)}`
}

// checkEqual checks that two pages show the same in a view. name is the view if it has to be
// selected, first in fresh and, if the page does not stay there, in live.
async function checkEqual(what, n, [live, liveName], [fresh, name]) {
  let [b, a] = await Promise.all([picture(fresh, n, name), picture(live, n, liveName)])
  for (const end = performance.now() + 30_000; a.text !== b.text && performance.now() < end; ) {
    await new Promise(done => setTimeout(done, 20))
    ;[b, a] = await Promise.all([picture(fresh, n), picture(live, n)])
  }
  for (const [page, p] of Object.entries({live: a, fresh: b}))
    check(`the ${page} page has ${n} events (${what})`, p.ready, String(p.events))
  check(
    `${what}: the live view is that of a fresh load`,
    a.text === b.text,
    a.text === b.text ? '' : differ(a.text, b.text),
  )
}

// leaveAndReturn navigates to a view that has no data of the run and then back to it, without
// loading the page.
const leaveAndReturn = (page, path) =>
  page.evaluate(async to => {
    history.pushState(null, '', '/schedules')
    await new Promise(done => {
      const look = () => {
        if (window.document.querySelector('main h1')?.textContent !== 'Schedules') return
        observer.disconnect()
        done()
      }
      const observer = new MutationObserver(look)
      observer.observe(window.document.body, {subtree: true, childList: true, characterData: true})
      look()
    })
    history.pushState(null, '', to)
  }, path)

export async function spec(browser, {token, program, scratch}) {
  const fake = await model({home: scratch, held: true}, reply)
  const begin = addr => serve({program, home: scratch, token, addr})
  let server = await begin()
  const events = meter()
  const before = await proxy({events})
  before.to(server.origin)
  try {
    await withPages(browser, server.origin, async ({open, allow, allowOrigin}) => {
      allowOrigin(before.origin)
      const api = caller(server.origin, token)
      const run = await api('/runs', {document, format: 'steps', name: 'headline', input: 'Sunday'})
      const path = `/runs/${run.id}?tab=`
      const onServer = async () => (await api(`/runs/${run.id}/events?limit=1000`)).items
      const openCalls = all =>
        all.reduce((n, e) => n + ({'model.called': 1, 'model.replied': -1, 'model.failed': -1}[e.type] ?? 0), 0)
      // atRest waits until the run stands still, and returns its events.
      const atRest = async ({held, wait}) => {
        let all = []
        const said = async () => ({held: fake.held, calls: openCalls(all), ...(await api(`/runs/${run.id}`))})
        const still = async () => {
          all = await onServer()
          const now = await api(`/runs/${run.id}`)
          if (held) return fake.held === held && openCalls(all) === held
          return wait ? now.status === 'paused' && now.waiting.some(w => w.node === wait) : now.endedAt !== null
        }
        await until('the run stands still', still, said)
        return onServer()
      }

      // Each page has a session of its own, so that each has a stream. No page was on another
      // address before, and all are tall, so that all rows are drawn.
      const now = Date.now() + 3_600_000 // all times are in the past
      const newPage = async () => {
        const page = await open(tall)
        await page.clock.setFixedTime(now)
        await enter(page, before.origin, token)
        return page
      }
      await atRest(rests[0])
      events.open(1)
      const pages = {}
      const fresh = await newPage()
      await fresh.goto(`${before.origin}/schedules`)
      await settled(fresh)
      for (const name of foldedViews) {
        pages[name] = await newPage()
        await pages[name].goto(before.origin + path + name.toLowerCase())
        await settled(pages[name])
      }
      await pages.Events.getByLabel(/also edges/).check()
      const compare = async (n, names) => {
        for (const name of names) {
          const live = pages[name] ?? pages.Conversation
          await checkEqual(`event ${n}, ${name}`, n, [live, serverViews.includes(name) ? name : ''], [fresh, name])
        }
        if (names.some(name => serverViews.includes(name))) await picture(pages.Conversation, n, 'Conversation')
      }

      allow(/net::ERR_(CONNECTION|EMPTY_RESPONSE|INCOMPLETE|SOCKET_NOT_CONNECTED)/)
      const restart = async () => {
        const {host} = new URL(server.origin)
        await server.kill()
        for (const p of Object.values(pages)) await p.getByText('The connection is lost').waitFor()
        server = await begin(host)
        before.to(server.origin)
      }

      let seen = 0
      for (const rest of [...rests, {}]) {
        let all = await atRest(rest)
        const catchUp = async () => {
          for (let n = seen + 1; n < all.length; n++) {
            events.open(n)
            if (!isLong && n % 10 !== 0) continue
            await leaveAndReturn(fresh, `${path}graph`)
            await compare(n, foldedViews)
          }
          seen = all.length
          events.open(seen)
          await fresh.goto(`${before.origin + path}graph`)
          await compare(seen, [...foldedViews, ...serverViews])
        }
        await catchUp()
        if (rest.kill) {
          await restart()
          all = await atRest(rest)
          await catchUp()
        }
        if (rest.held) fake.release()
        else if (rest.wait) {
          const {waiting} = await api(`/runs/${run.id}`)
          await api(`/runs/${run.id}/resume`, {
            wait: waiting.find(w => w.node === rest.wait).id,
            decision: 'approve',
            note: 'good',
          })
        }
      }

      const {status} = await ended(api, run.id)
      check('the run completes', status === 'completed', status)
      const all = await onServer()
      for (const kind of [
        'model.failed',
        'step.retrying',
        'subagent.completed',
        'condition.checked',
        'wait.opened',
        'run.resumed',
      ])
        check(
          `the run has events of ${kind}`,
          all.some(e => e.type === kind),
          [...new Set(all.map(e => e.type))].join(),
        )
      const rows = await pages.Events.getByRole('list', {name: 'Events'}).getByRole('listitem').allTextContents()
      const numbers = rows.map(r => Number.parseInt(r, 10))
      check(
        'each event is there once',
        rows.length === all.length && all.every((e, i) => rows[i].startsWith(String(e.seq))),
        `${numbers}`,
      )
      console.error(`${all.length} events, ${fake.asked.length} calls`)
    })
  } finally {
    before.close()
    await server.kill()
    fake.close()
  }
}
