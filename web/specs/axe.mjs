// Done-when 11: axe finds nothing serious or critical on any route, in both themes, at two widths, with dialogs open; on phones, what is touched is large, and nothing scrolls sideways.
import {readFileSync} from 'node:fs'
import {createRequire} from 'node:module'
import {caller, check, settled, signIn, withBrowser} from './lib.mjs'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

const approval = `workflow:
  - {id: letter, type: set, values: {text: "{{ $input }}"}}
  - {id: ok, type: approval, prompt: Send it?, deadline: 2d}
  - {type: end, output: "{{ $steps.letter.output.text }}"}
`
const form = `workflow:
  - id: form
    type: ask
    prompt: How many?
    schema:
      type: object
      required: [count]
      properties:
        count: {type: integer, title: How many, description: At least one}
        kind: {enum: [small, large]}
        gift: {type: boolean}
        more: {type: array}
  - {type: end, output: "{{ $steps.form.output }}"}
`
const done = `workflow:
  - id: look
    type: parallel
    steps:
      - {id: letters, type: set, values: {n: "{{ size($input) }}"}}
      - {id: same, type: set, values: {text: "{{ $input }}"}}
  - {type: end, output: "{{ $steps.same.output.text }}"}
`
const failed = `workflow:
  - {type: end, status: failed, message: it is so}
`
const drawn = JSON.stringify({
  name: 'Drawn',
  nodes: [
    {id: 's', type: 'start'},
    {id: 'q', type: 'if', data: {conditions: [{operator: 'contains', value: ''}]}},
    {id: 'ok', type: 'approval', data: {prompt: 'Send it?'}},
    {id: 'v', type: 'set', data: {values: {}}},
  ],
  connections: [
    {source: 's', target: 'q'},
    {source: 'q', target: 'ok', sourceHandle: 'condition-0'},
    {source: 'ok', target: 'v', sourceHandle: 'approve'},
  ],
})

export const spec = (chromium, {origin, token}) =>
  withBrowser(chromium, origin, async ({open, allow}) => {
    allow(/status of 404/) // the run that is not there
    const api = caller(origin, token)
    const start = (document, name) => api('/runs?wait=20s', {document, format: 'steps', name, input: 'Dear Ada'})
    const [waits, asks, ended, broken] = [await start(approval, 'letter'), await start(form, 'form'), await start(done, 'count'), await start(failed, 'broken')]
    await api('/workflows/letter', {document: approval}, 'PUT')
    await api('/workflows', {id: 'drawn', document: drawn})
    await api('/workflows', {id: 'labelled', document: `labels: {team: news, stage: "${'long '.repeat(24)}end"}\n${approval}`})
    const wait = r => `/inbox/${r.id}/${r.waiting[0].id}`
    const paths = [
      '/',
      '/runs',
      '/runs?status=failed',
      '/inbox',
      wait(waits),
      wait(asks),
      '/workflows',
      '/workflows?label=team%3Dnews',
      '/workflows/letter',
      '/workflows/drawn/edit',
      '/workflows/letter/versions',
      '/schedules',
      '/workflows/letter/edit',
      '/workflows/letter/edit?pane=problems',
      '/workflows/letter/edit?pane=drawing',
      `/runs/${waits.id}`,
      `/runs/${broken.id}`,
      '/runs/none',
      '/settings/none',
    ]
    for (const tab of ['graph', 'graph&step=2&heat=time', 'timeline&at=6', 'steps&step=2&q=ada', 'conversation', 'log', 'trail', 'context', 'events'])
      paths.push(`/runs/${ended.id}?tab=${tab}`)
    paths.push(`/runs/${ended.id}/compare/${broken.id}`)
    for (const colorScheme of ['light', 'dark']) {
      for (const viewport of [
        {width: 1280, height: 800},
        {width: 390, height: 844},
      ]) {
        const page = await open({colorScheme, viewport})
        const look = async what => {
          const where = `${what}, ${colorScheme}, ${viewport.width}`
          await page.evaluate(axe)
          const found = await page.evaluate(async () => {
            const {violations} = await window.axe.run(document, {resultTypes: ['violations']})
            return violations
              .filter(v => v.impact === 'serious' || v.impact === 'critical')
              .map(
                v =>
                  `${v.id}: ${v.nodes
                    .map(n => `${n.target.join(' ')} ${n.failureSummary ?? ''}`)
                    .join('; ')
                    .slice(0, 600)}`,
              )
          })
          check(`axe finds nothing (${where})`, found.length === 0, found.join('\n'))
          const main = await page.evaluate(() => [document.documentElement, document.querySelector('main')].some(e => e && e.scrollWidth > e.clientWidth + 1))
          check(`nothing scrolls sideways (${where})`, !main)
        }
        await page.goto(`${origin}/`)
        await page.getByLabel('Token').waitFor()
        await look('sign in')
        await signIn(page, origin, token)
        for (const path of paths) {
          await page.goto(origin + path)
          await page.locator('main :is(h1, h2, [role=alert])').first().waitFor()
          await page
            .getByText(/^Loading /)
            .first()
            .waitFor({state: 'detached'})
          await look(path)
        }
        await page.goto(`${origin}${wait(waits)}`)
        await settled(page)
        if (viewport.width === 390) {
          for (const name of ['Approve', 'Reject']) {
            const box = await page.getByRole('button', {name}).boundingBox()
            check(`${name} is large enough`, box.height >= 44 && box.width >= 44, JSON.stringify(box))
          }
        }
        await page.keyboard.press('Control+k')
        await page.getByRole('dialog').waitFor()
        await look('palette')
        await page.keyboard.press('Escape')
        await page.getByRole('dialog').waitFor({state: 'detached'})
        await page.locator('main h1').first().click()
        await page.keyboard.press('?')
        await page.getByRole('dialog').waitFor()
        await look('keyboard help')
        await page.context().close()
      }
    }
  })
