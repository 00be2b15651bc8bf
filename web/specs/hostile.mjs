// Done-when 8: hostile texts in every field that the page shows. Nothing runs, no request leaves, and the page stays usable.
import {caller, check, settled, signIn, withBrowser} from './lib.mjs'

const payload = [
  '<script>window.canary=1</script>',
  '<img src=x onerror="window.canary=1">',
  '<svg onload="window.canary=1"><a href="javascript:window.canary=1">x</a></svg>',
  '![x](https://evil.example/x.png) [y](javascript:window.canary=1) https://evil.example/',
  '"><iframe srcdoc="<script>parent.canary=1</script>"></iframe>',
  '\u202egnp.exe\u202c \u200b\u2066hidden\u2069',
  '${window.canary=1}',
].join(' ')

const quote = text => JSON.stringify(text)
const document = `workflow:
  - {id: one, type: set, values: {text: "{{ $input }}", same: ${quote(payload)}}}
  - id: ok
    type: approval
    prompt: ${quote(`${payload} {{ $input }}`)}
  - {type: end, output: "{{ $steps.one.output }}"}
`

const form = `workflow:
  - id: form
    type: ask
    prompt: ${quote(payload)}
    schema:
      type: object
      properties:
        a: {type: string, title: ${quote(payload)}, description: ${quote(payload)}, enum: [${quote(payload)}, other]}
  - {type: end, output: "{{ $steps.form.output }}"}
`

const failing = `workflow:
  - {type: end, status: failed, message: ${quote(payload)}}
`

export const spec = (chromium, {origin, token}) =>
  withBrowser(chromium, origin, async ({open}) => {
    const api = caller(origin, token)
    let deep = '1'
    for (let i = 0; i < 10_000; i++) deep = `[${deep}]`
    const named = {name: payload.slice(0, 190)}
    const runs = []
    for (const [text, input] of [
      [document, payload],
      [form, payload],
      [failing, payload],
      [document, 'x'.repeat(1_000_000)],
      [document, deep],
    ]) {
      runs.push((await api('/runs?wait=20s', {document: text, format: 'steps', input, ...named})).id)
    }
    const waits = (await api('/waits')).items
    check('runs wait', waits.length === 4, String(waits.length))
    const page = await open()
    await signIn(page, origin, token)
    const paths = ['/', '/runs', `/runs?q=${encodeURIComponent('canary')}&workflow=${encodeURIComponent(payload)}`, '/inbox', '/workflows']
    for (const r of runs)
      for (const tab of ['graph', 'timeline&at=5', `steps&step=1&q=${encodeURIComponent('canary')}`, 'conversation', 'log', 'trail', 'context', 'events'])
        paths.push(`/runs/${r}?tab=${tab}`)
    paths.push(`/runs/${runs[0]}/compare/${runs[3]}?row=one+1`)
    for (const w of waits) paths.push(`/inbox/${w.run}/${w.id}`)
    for (const path of paths) {
      await page.goto(origin + path)
      await settled(page)
      const seen = await page.evaluate(() => ({
        canary: window.canary !== undefined,
        elements: [
          ...document.querySelectorAll('main :is(img, iframe, object, embed, script, style, form[action], a[href^="javascript:"], a[href*="evil.example"])'),
        ].map(e => e.localName),
        wider: document.documentElement.scrollWidth > document.documentElement.clientWidth,
        turned: /[\u202a-\u202e\u2066-\u2069]/.test(document.body.innerText),
      }))
      check(`nothing runs at ${path}`, !seen.canary && seen.elements.length === 0, JSON.stringify(seen))
      check(`nothing is wider than the window at ${path}`, !seen.wider)
      check(`nothing turns the direction of text at ${path}`, !seen.turned)
    }
    await page.goto(`${origin}/inbox/${waits[0].run}/${waits[0].id}`)
    await settled(page)
    check('the page is usable', (await page.getByRole('button').count()) > 3)
  })
