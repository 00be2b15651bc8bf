// Twelve tabs show running runs over plain HTTP. All load, each shows the end of its
// run, and the server has at most four open streams.
import {caller, check, ended, settled, signIn, withPages} from './lib.mjs'

const count = 12

const document = `workflow:
  - {id: ok, type: approval, prompt: Send it?}
  - {type: end, output: "sent: {{ $input }}"}
`

export const spec = (browser, {origin, token}) =>
  withPages(browser, origin, async ({open, tab}) => {
    const api = caller(origin, token)
    const runs = []
    for (let i = 0; i < count; i++)
      runs.push(await api('/runs?wait=20s', {document, format: 'steps', name: `letter ${i}`, input: `letter ${i}`}))
    const first = await open()
    await signIn(first, origin, token)
    const onServer = async () => {
      const text = await fetch(`${origin}/metrics`, {headers: {Authorization: `Bearer ${token}`}}).then(a => a.text())
      return Number(/^hocket_http_event_streams_active (\d+)/m.exec(text)?.[1])
    }
    // spans are the lifetimes of streams on the browser's clock, which all pages share. They cover
    // the time between two polls of the server's counters, and do not depend on the order in which
    // pages report.
    const spans = []
    const note = async page => {
      const own = new Map()
      const told = await page.context().newCDPSession(page)
      await told.send('Network.enable')
      told.on('Network.requestWillBeSent', ({requestId, request, timestamp}) => {
        if (!request.headers.Accept?.includes('text/event-stream')) return
        own.set(requestId, {from: timestamp, to: Number.POSITIVE_INFINITY})
        spans.push(own.get(requestId))
      })
      for (const end of ['Network.loadingFinished', 'Network.loadingFailed'])
        told.on(end, ({requestId, timestamp}) => Object.assign(own.get(requestId) ?? {}, {to: timestamp}))
    }
    const openAt = time => spans.filter(s => s.from <= time && time < s.to).length
    const most = () => Math.max(...spans.map(s => openAt(s.from)))
    const pages = [first]
    while (pages.length < count) pages.push(await tab(first))
    await Promise.all(pages.map(note))
    await Promise.all(pages.map((p, i) => p.goto(`${origin}/runs/${runs[i].id}`)))
    for (const p of pages) {
      await settled(p)
      await p.getByRole('link', {name: 'Decide'}).waitFor()
    }
    const now = spans.filter(s => s.to === Number.POSITIVE_INFINITY).length
    check('four streams are open: the feed, and three runs', now === 4 && most() === 4, `${now}, at most ${most()}`)
    check('the server has four streams open', (await onServer()) === 4, String(await onServer()))

    // Each run ends by itself, whether its tab has a stream or polls.
    const ends = pages.map((p, i) => p.locator('main').getByText(`sent: letter ${i}`).first().waitFor())
    for (const [i, run] of runs.entries()) {
      await api(`/runs/${run.id}/resume?wait=20s`, {wait: run.waiting[0].id, decision: 'approve'})
      const {status} = await ended(api, run.id)
      check('the run completes', status === 'completed', status)
      const streamsNow = await onServer()
      check('the server never has more than four streams open', streamsNow <= 4, String(streamsNow))
      await ends[i]
    }
    check(
      'there were more than four streams, as others took over, and never more at a time',
      spans.length > 4 && most() <= 4,
      `${spans.length}, at most ${most()}`,
    )
  })
