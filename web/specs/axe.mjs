// axe finds nothing serious or critical on any route, with dialogs open. On phones,
// controls are large enough to touch, and nothing scrolls sideways. If reduced motion is preferred,
// nothing moves. make test checks the wide page in the light theme; make test-all checks both
// themes and two widths.
import {readFileSync} from 'node:fs'
import {createRequire} from 'node:module'
import {caller, check, isLong, settled, signIn, withPages} from './lib.mjs'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

const sizes = [
  {width: 1280, height: 800},
  {width: 390, height: 844},
]
const themes = isLong ? ['light', 'dark'] : ['light']
const looked = isLong ? sizes : sizes.slice(0, 1)

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
const written = `agents:
  writer: {model: openai/m, instruction: Write a letter.}
workflow:
  - {id: write, type: agent, name: writer}
`
const busy = `workflow:
  - {id: pay, type: tool, tool: pay, args: {to: Ada, sum: 5}}
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

// axeFindings returns the violations that axe reports. Rules that are never serious are skipped;
// onlyColours runs only the rules that check colors.
const axeFindings = (page, onlyColours) =>
  page.evaluate(async colours => {
    const {rules} = window.axe._audit
    const counts = r => r.enabled && r.impact !== 'minor' && r.impact !== 'moderate' && !r.tags.includes('experimental')
    const values = rules
      .filter(r => (colours ? ['color-contrast', 'link-in-text-block'].includes(r.id) : counts(r)))
      .map(r => r.id)
    if (values.length !== (colours ? 2 : values.length) || values.length < 2)
      throw new Error(`axe has other rules: ${values}`)
    const {violations} = await window.axe.run(document, {resultTypes: ['violations'], runOnly: {type: 'rule', values}})
    return violations
      .filter(v => v.impact === 'serious' || v.impact === 'critical')
      .map(
        v =>
          `${v.id}: ${v.nodes
            .map(n => `${n.target.join(' ')} ${n.failureSummary ?? ''}`)
            .join('; ')
            .slice(0, 600)}`,
      )
  }, onlyColours)

// markupOf returns the elements of a page with their attributes, without those that only change the
// appearance.
const markupOf = page =>
  page.evaluate(() =>
    [...document.body.querySelectorAll('*')]
      .map(e =>
        [
          e.localName,
          ...[...e.attributes].filter(a => a.name !== 'class' && a.name !== 'style').map(a => `${a.name}=${a.value}`),
        ].join(' '),
      )
      .join('\n'),
  )

// waitForRepaint waits, for at most a second, until the page is drawn for its current size and
// theme: a browser may not render frames of a page on which nothing changes.
const waitForRepaint = page =>
  page.evaluate(
    () =>
      new Promise(done => {
        requestAnimationFrame(() => requestAnimationFrame(done))
        setTimeout(done, 1000)
      }),
  )

// look runs axe in each theme at each width. In the second theme, if the elements are the same as
// in the first one, only the color rules can find anything else.
export async function look(page, what) {
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axe)
  for (const size of looked) {
    await page.setViewportSize(size)
    let first
    for (const colorScheme of themes) {
      await page.emulateMedia({colorScheme})
      await waitForRepaint(page)
      const where = `${what}, ${colorScheme}, ${size.width}`
      const theme = await page.evaluate(() => document.documentElement.dataset.theme)
      check(`the theme is shown (${where})`, theme === colorScheme, theme)
      const now = await markupOf(page)
      const all = await axeFindings(page, now === first)
      first ??= now
      check(`axe finds nothing (${where})`, all.length === 0, all.join('\n'))
      const wide = await page.evaluate(() =>
        [document.documentElement, document.querySelector('main')].some(e => e && e.scrollWidth > e.clientWidth + 1),
      )
      check(`nothing scrolls sideways (${where})`, !wide)
    }
  }
  await page.setViewportSize(sizes[0])
}

const press = name => page => page.getByRole('button', {name, exact: true}).first().click()
const key =
  (name, at = 'main h1') =>
  async page => {
    await page.locator(at).first().click()
    await page.keyboard.press(name)
  }
const onNode = name => async page => {
  await page.locator('.react-flow__node[data-id="q"]').focus()
  await page.keyboard.press(name)
}

// placesOf returns the places to check: a path, and the parts to open there.
function placesOf({waits, asks, ended, broken, calls}) {
  const wait = r => `/inbox/${r.id}/${r.waiting[0].id}`
  const places = [
    '/',
    '/runs',
    '/runs?status=failed',
    '/inbox',
    wait(asks),
    '/workflows?label=team%3Dnews',
    '/workflows/letter/versions',
    '/schedules',
    '/workflows/letter/edit',
    '/workflows/letter/edit?pane=problems',
    '/workflows/letter/edit?pane=drawing',
    '/runs/none',
    '/settings/none',
    `/runs/${ended.id}/compare/${broken.id}`,
    ...[
      'graph',
      'graph&step=2&heat=time',
      'timeline&at=6',
      'steps&step=2&q=ada',
      'conversation',
      'log',
      'trail',
      'context',
    ].map(tab => `/runs/${ended.id}?tab=${tab}`),
  ].map(path => ({path, dialogs: []}))
  const opened = [
    [wait(waits), {palette: key('Control+k'), 'keyboard help': key('?')}],
    ['/workflows', {'a new text': press('New from text'), 'a new drawing': press('Draw a workflow')}],
    ['/workflows/letter', {conversion: press('Convert'), deletion: press('Delete')}],
    ['/workflows/drawn/edit', {'a new node': onNode('a'), 'a new edge': onNode('c'), 'a test run': press('Test run')}],
    [`/runs/${waits.id}`, {cancelling: press('Cancel'), comparing: press('Compare…'), copying: press('Copy as…')}],
    [`/runs/${broken.id}`, {continuing: press('Continue'), 'deleting a run': press('Delete')}],
    [
      `/runs/${ended.id}?tab=events`,
      {'an event': page => page.getByRole('list', {name: 'Events'}).getByRole('button').first().click()},
    ],
    [`/runs/${calls.id}?tab=steps&step=1`, {'the request of a call': press('Request as sent…')}],
  ]
  for (const [path, dialogs] of opened) places.push({path, dialogs: Object.entries(dialogs)})
  return places
}

// routes are the routes of the application; each has to be checked.
const routes = [
  ...readFileSync(new URL('../src/App.tsx', import.meta.url), 'utf8').matchAll(/<Route path="([^"]+)"/g),
].map(m => m[1])
const fits = (path, route) => new RegExp(`^${route.replace(/:\w+/g, '[^/]+')}$`).test(path.split('?')[0])

// checkReducedMotion checks that nothing moves if a user prefers reduced motion, on a page that has
// an animation otherwise.
async function checkReducedMotion(open, origin, token) {
  const api = caller(origin, token)
  for (const reducedMotion of ['no-preference', 'reduce']) {
    const page = await open({reducedMotion})
    await signIn(page, origin, token)
    const run = await api('/runs', {document: busy, format: 'steps', name: 'busy'})
    await page.goto(`${origin}/runs/${run.id}`)
    await page.locator('main').getByText('running', {exact: true}).first().waitFor()
    await page.locator('.react-flow__node').first().waitFor()
    await waitForRepaint(page)
    const moving = () =>
      page.evaluate(() => ({
        runs: [...document.querySelectorAll('main *')].some(
          e => e.childElementCount === 0 && e.textContent === 'running',
        ),
        all: document
          .getAnimations()
          .filter(a => a.playState === 'running')
          .map(a => `${a.effect.target.localName}.${a.effect.target.className}`),
      }))
    const {runs, all} = await moving()
    const isStill = reducedMotion === 'reduce'
    check(
      isStill ? 'nothing moves where less motion is wanted' : 'a run that goes on is seen to move',
      runs && (all.length === 0) === isStill,
      `${runs} ${all}`,
    )
    await page.context().close()
  }
}

export const spec = (browser, {origin, token}) =>
  withPages(browser, origin, async ({open, allow}) => {
    allow(/status of 404/) // the run that does not exist
    const api = caller(origin, token)
    check('the routes are known', routes.length > 9, routes.join(' '))
    const start = (document, name) => api('/runs?wait=20s', {document, format: 'steps', name, input: 'Dear Ada'})
    const runs = {
      waits: await start(approval, 'letter'),
      asks: await start(form, 'form'),
      ended: await start(done, 'count'),
      broken: await start(failed, 'broken'),
      calls: await start(written, 'written'),
    }
    await api('/workflows/letter', {document: approval}, 'PUT')
    await api('/workflows', {id: 'drawn', document: drawn})
    await api('/workflows', {
      id: 'labelled',
      document: `labels: {team: news, stage: "${'long '.repeat(24)}end"}\n${approval}`,
    })

    const out = await open()
    await out.goto(`${origin}/`)
    await out.getByLabel('Token').waitFor()
    await look(out, 'sign in')
    await out.context().close()
    await checkReducedMotion(open, origin, token)

    const places = placesOf(runs)
    const missing = routes.filter(r => !places.some(p => fits(p.path, r)))
    check('each route is looked at', missing.length === 0, missing.join(' '))
    // Two pages share the places: one renders while the other is checked.
    const walk = async () => {
      const page = await open()
      await signIn(page, origin, token)
      for (let place = places.pop(); place; place = places.pop()) {
        const {path, dialogs} = place
        await page.goto(origin + path)
        await settled(page)
        await look(page, path)
        for (const [name, act] of dialogs) {
          await act(page)
          await page.getByRole('dialog').waitFor()
          await settled(page)
          await look(page, name)
          await page.keyboard.press('Escape')
          await page.getByRole('dialog').waitFor({state: 'detached'})
        }
        if (path.startsWith(`/inbox/${runs.waits.id}/`)) {
          await page.setViewportSize(sizes[1])
          for (const name of ['Approve', 'Reject']) {
            const box = await page.getByRole('button', {name}).boundingBox()
            check(`${name} is large enough`, box.height >= 44 && box.width >= 44, JSON.stringify(box))
          }
        }
      }
      await page.context().close()
    }
    await Promise.all([walk(), walk()])
  })
