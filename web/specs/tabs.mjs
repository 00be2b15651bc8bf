// Done-when 10: twelve tabs on running runs over plain HTTP. All load, each shows the end of its run within three seconds of it, and the server has four streams open at most.
import {caller, check, ended, settled, signIn, withBrowser} from './lib.mjs'

const count = 12

const document = `workflow:
  - {id: ok, type: approval, prompt: Send it?}
  - {type: end, output: "sent: {{ $input }}"}
`

export const spec = (chromium, {origin, token}) =>
  withBrowser(chromium, origin, async ({open, tab}) => {
    const api = caller(origin, token)
    const runs = []
    for (let i = 0; i < count; i++) runs.push(await api('/runs?wait=20s', {document, format: 'steps', name: `letter ${i}`, input: `letter ${i}`}))
    const first = await open()
    await signIn(first, origin, token)
    const onServer = async () => {
      const text = await fetch(`${origin}/metrics`, {headers: {Authorization: `Bearer ${token}`}}).then(a => a.text())
      return Number(/^hocket_http_event_streams_active (\d+)/m.exec(text)?.[1])
    }
    // Between two looks at what the server says are the requests for streams that have an answer and no end.
    const streams = new Set()
    let most = 0
    const follow = page => {
      page.on('request', r => {
        if (!r.headers().accept?.includes('text/event-stream')) return
        streams.add(r)
        most = Math.max(most, streams.size)
      })
      for (const end of ['requestfinished', 'requestfailed']) page.on(end, r => streams.delete(r))
    }
    const pages = [first]
    while (pages.length < count) pages.push(await tab(first))
    for (const p of pages) follow(p)
    await Promise.all(pages.map((p, i) => p.goto(`${origin}/runs/${runs[i].id}`)))
    for (const p of pages) {
      await settled(p)
      await p.getByRole('link', {name: 'Decide'}).waitFor()
    }
    check('four streams are open: the feed, and three runs', streams.size === 4 && most <= 4, `${streams.size}, at most ${most}`)
    check('the server has four streams open', (await onServer()) === 4, String(await onServer()))

    // Each run ends by itself, those whose tabs have a stream and those whose tabs ask.
    const ends = pages.map((p, i) =>
      p
        .locator('main')
        .getByText(`sent: letter ${i}`)
        .first()
        .waitFor()
        .then(() => performance.now()),
    )
    const late = []
    for (const [i, run] of runs.entries()) {
      await api(`/runs/${run.id}/resume?wait=20s`, {wait: run.waiting[0].id, decision: 'approve'})
      const {status} = await ended(api, run.id)
      check('the run completes', status === 'completed', status)
      const at = performance.now()
      const streamsNow = await onServer()
      check('the server never has more than four streams open', streamsNow <= 4, String(streamsNow))
      late.push((await ends[i]) - at)
    }
    console.error(`ends were shown after ${late.map(Math.round).join(' ')} ms; at most ${most} streams`)
    check(
      'each tab shows the end of its run within three seconds',
      late.every(ms => ms < 3000),
      late.join(),
    )
    check('there were never more than four streams', most <= 4, String(most))
  })
