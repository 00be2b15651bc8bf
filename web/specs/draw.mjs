// S0 is drawn with the mouse, and with the keyboard alone. An edit that breaks a rule
// of sub-agents is rejected with its reason. The workflow is run, approved with a note, and
// completed.
import {execFileSync} from 'node:child_process'
import {mkdirSync, readFileSync, writeFileSync} from 'node:fs'
import {join} from 'node:path'
import {caller, check, ended, pick, reach, settled, signIn, until, withPages} from './lib.mjs'

const nodeOf = (page, id) => page.locator(`.react-flow__node[data-id="${id}"]`)
const handleOf = (page, id, handle) => nodeOf(page, id).locator(`.react-flow__handle[data-handleid="${handle}"]`)
const inspector = page => page.locator('[data-inspector]')

// tidy arranges the nodes, and waits until none of them moves any more.
async function tidy(page) {
  const places = () =>
    page.evaluate(() =>
      [...document.querySelectorAll('.react-flow__node, .react-flow__viewport')].map(e => e.style.transform).join(),
    )
  const before = await places()
  await page.getByRole('button', {name: 'Tidy'}).click()
  let now = before
  await until('the nodes are in order and at rest', async () => {
    const then = now
    now = await places()
    return now !== before && now === then
  })
}

const byMouseOf = () => button => button.click()
const byKeysOf = page => async button => {
  await reach(page, button)
  await page.keyboard.press('Enter')
}

const create = async (page, press, origin, name) => {
  await page.goto(`${origin}/workflows`)
  await settled(page)
  await press(page.getByRole('button', {name: 'Draw a workflow'}))
  await reach(page, page.getByLabel('Name', {exact: true}))
  await page.keyboard.insertText(name)
  await page.keyboard.press('Enter')
  await nodeOf(page, 'start').waitFor()
}

const refused = async (page, reason) => {
  await page.getByRole('alert').filter({hasText: reason}).waitFor()
}

const publish = async page => {
  await page.getByRole('button', {name: 'Publish'}).click()
  await page.getByRole('status').filter({hasText: 'Published v'}).first().waitFor()
}

// summaryOf returns a short summary of the stored document.
const summaryOf = async (api, id) => {
  const doc = JSON.parse((await api(`/workflows/${id}`)).document)
  return {
    doc,
    nodes: doc.nodes
      .map(n => n.type)
      .sort()
      .join(' '),
    edges: doc.connections
      .map(c => `${c.source}-${c.sourceHandle ?? 'output'}-${c.target}`)
      .sort()
      .join(' '),
  }
}

// runAndApprove runs the stored document from the editor, approves with a note next to the drawing,
// and waits for the end.
const runAndApprove = async (page, press, api, origin, id) => {
  await page.goto(`${origin}/workflows/${id}/edit`)
  await nodeOf(page, 'start').waitFor()
  await page.waitForFunction(() =>
    [...document.querySelectorAll('button')].some(b => b.textContent.trim() === 'Test run' && !b.disabled),
  )
  await press(page.getByRole('button', {name: 'Test run'}))
  await reach(page, page.getByRole('dialog').getByLabel('Input'))
  await page.keyboard.press('Control+a')
  await page.keyboard.insertText('an invitation')
  await press(page.getByRole('dialog').getByRole('button', {name: 'Run'}))
  await page.locator('.react-flow__node[data-id="approval"] [data-state="waiting"]').waitFor()
  const run = (await page.getByRole('link', {name: 'test run', exact: true}).getAttribute('href')).split('/').at(-1)
  await press(page.getByRole('button', {name: 'Answer', exact: true}))
  const pane = page.getByRole('region', {name: 'Answer', exact: true})
  await until('the node that waits is in view', async () => {
    const [node, beside] = [await nodeOf(page, 'approval').boundingBox(), await pane.boundingBox()]
    return node.x + node.width <= beside.x
  })
  await reach(page, pane.getByLabel('Note, recorded with the answer'))
  await page.keyboard.insertText('well done')
  await press(pane.getByRole('button', {name: 'Approve'}))
  await page.locator('.react-flow__node[data-id="approval"] [data-state="succeeded"]').waitFor()
  check('the drawing stays', new URL(page.url()).pathname === `/workflows/${id}/edit`, page.url())
  const {status, error, answers} = await ended(api, run)
  check(
    'the run is completed',
    status === 'completed' && answers[0].note === 'well done',
    JSON.stringify(error ?? answers),
  )
  return run
}

const edges =
  'agent-output-if agent-subagent-agent4 approval-approve-agent2 approval-reject-agent3 ' +
  'if-condition-0-approval start-output-agent'

async function byMouse(page, api, origin) {
  const press = byMouseOf(page)
  await create(page, press, origin, 'Mouse')
  const add = async (kind, id, x, y) => {
    const from = await page
      .getByRole('list', {name: 'Kinds of nodes'})
      .getByRole('button', {name: kind, exact: true})
      .boundingBox()
    const box = await page.locator('[data-drawing]').boundingBox()
    await page.mouse.move(from.x + 20, from.y + 10)
    await page.mouse.down()
    await page.mouse.move(box.x + x, box.y + y, {steps: 4})
    await page.mouse.up()
    await nodeOf(page, id).waitFor()
  }
  const middle = async l => {
    const b = await l.boundingBox()
    return [b.x + b.width / 2, b.y + b.height / 2]
  }
  const draw = async (from, handle, to, target = 'input') => {
    await page.mouse.move(...(await middle(handleOf(page, from, handle))))
    await page.mouse.down()
    const [x, y] = await middle(handleOf(page, to, target))
    await page.mouse.move(x + 30, y + 20, {steps: 3})
    await page.mouse.move(x, y, {steps: 3})
    await page.mouse.up()
  }
  // On an empty canvas, the start node is drawn by hand, too.
  await nodeOf(page, 'start').click()
  await page.keyboard.press('Delete')
  await nodeOf(page, 'start').waitFor({state: 'detached'})
  await page.getByText('It cannot run: No start node found in workflow graph').waitFor()
  await page.getByRole('button', {name: 'Add the start'}).click()
  await nodeOf(page, 'start').waitFor()
  await page.locator('.react-flow__controls-zoomout').click()
  await page.locator('.react-flow__controls-zoomout').click()
  await page.locator('.react-flow__controls-zoomout').click()
  await add('Agent', 'agent', 140, 60)
  await add('If', 'if', 140, 160)
  await add('Approval', 'approval', 140, 270)
  await add('Agent', 'agent2', 140, 380)
  await add('Agent', 'agent3', 420, 380)
  await add('Agent', 'agent4', 420, 60)
  await tidy(page)
  await draw('start', 'output', 'agent')
  await draw('agent', 'output', 'if')
  await draw('if', 'condition-0', 'approval')
  await draw('approval', 'approve', 'agent2')
  await draw('approval', 'reject', 'agent3')
  // Each of the seven rules is checked with its reason.
  await draw('agent', 'subagent', 'agent4')
  await refused(page, 'Agent "agent" uses subagent links but Subagents tool is disabled.')
  await page.getByRole('button', {name: 'Enable sub-agents and connect'}).click()
  await draw('agent', 'subagent', 'if')
  await refused(page, 'Subagent target "if" must be an agent node.')
  await draw('agent', 'subagent', 'agent2')
  await refused(page, 'Agent "agent2" is configured as subagent and cannot participate in workflow execution edges.')
  await draw('agent2', 'subagent', 'agent4')
  await refused(page, 'Agent "agent4" cannot belong to more than one parent subagent.')
  await draw('agent4', 'subagent', 'agent')
  await refused(page, 'Subagent cycle detected: agent -> agent4 -> agent')
  await draw('agent', 'subagent', 'agent')
  await refused(page, 'Agent "agent" cannot be a subagent of itself.')
  await draw('agent4', 'output', 'if')
  await refused(page, 'Agent "agent4" is configured as subagent and cannot participate in workflow execution edges.')
  await page.getByRole('alert').getByRole('button', {name: 'Close'}).click()
  // A field is changed in its form. Dragging a node does not change the text.
  await nodeOf(page, 'if').dblclick()
  await inspector(page).getByLabel('Value of condition 1').fill('dear')
  await inspector(page).getByRole('button', {name: 'Close'}).click()
  await publish(page)
  const one = await summaryOf(api, 'mouse')
  check('the edges are drawn', one.edges === edges, one.edges)
  const [x, y] = await middle(nodeOf(page, 'agent2'))
  await page.mouse.move(x, y)
  await page.mouse.down()
  await page.mouse.move(x - 60, y + 10, {steps: 4})
  await page.mouse.up()
  await page.waitForResponse(
    r => r.url().endsWith('/workflows/mouse/layout') && r.request().method() === 'PUT' && r.ok(),
  )
  check('a move is no change to store', await page.getByRole('button', {name: 'Save draft'}).isDisabled())
  const places = await api('/workflows/mouse/layout')
  check('the places are stored', Object.keys(places.nodes).length === 7, JSON.stringify(places))
  check('no version is made', (await api('/workflows/mouse')).versions.length === 2)
  return ['mouse', await runAndApprove(page, press, api, origin, 'mouse')]
}

async function byKeyboard(page, api, origin) {
  const enter = byKeysOf(page)
  await create(page, enter, origin, 'Keyboard')
  const press = async (...keys) => {
    for (const k of keys) await page.keyboard.press(k)
  }
  const choose = async name => {
    await enter(page.getByRole('dialog').getByRole('button', {name}).first())
    await page.getByRole('dialog').waitFor({state: 'detached'})
  }
  const wayOut = way => pick(page, page.getByRole('dialog').getByLabel('Way out'), way)
  const at = async id => {
    await page.waitForFunction(want => document.activeElement?.getAttribute('data-id') === want, id)
  }
  const to = async id => {
    await reach(page, nodeOf(page, id))
  }
  const add = async (kind, id, way) => {
    await press('a')
    if (way) await wayOut(way)
    await choose(kind)
    await at(id)
  }
  const connect = async (from, way, target) => {
    await to(from)
    await press('c')
    await wayOut(way)
    await choose(target)
  }
  await to('start')
  await add(/^Agent/, 'agent')
  await add(/^If/, 'if')
  await add(/^Approval/, 'approval', 'condition-0')
  await add(/^Agent/, 'agent2', 'approve')
  // Arrow keys follow edges.
  await press('ArrowUp')
  await at('approval')
  await add(/^Agent/, 'agent3', 'reject')
  await press('ArrowUp', 'ArrowUp', 'ArrowUp')
  await at('agent')
  // A node is added without an edge. Then each of the seven rules is checked with its reason.
  await enter(page.getByRole('list', {name: 'Kinds of nodes'}).getByRole('button', {name: 'Agent', exact: true}))
  await nodeOf(page, 'agent4').waitFor()
  await connect('agent', 'subagent', /agent4\)/)
  await refused(page, 'Agent "agent" uses subagent links but Subagents tool is disabled.')
  await enter(page.getByRole('button', {name: 'Enable sub-agents and connect'}))
  await connect('agent', 'subagent', /^if/)
  await refused(page, 'Subagent target "if" must be an agent node.')
  await connect('agent', 'subagent', /agent3\)/)
  await refused(page, 'Agent "agent3" is configured as subagent and cannot participate in workflow execution edges.')
  await connect('agent3', 'subagent', /agent4\)/)
  await refused(page, 'Agent "agent4" cannot belong to more than one parent subagent.')
  await connect('agent4', 'subagent', /^Agent \(agent\)/)
  await refused(page, 'Subagent cycle detected: agent -> agent4 -> agent')
  await connect('agent', 'subagent', /^Agent \(agent\)/)
  await refused(page, 'Agent "agent" cannot be a subagent of itself.')
  await connect('agent4', 'output', /^if/)
  await refused(page, 'Agent "agent4" is configured as subagent and cannot participate in workflow execution edges.')
  // A node is deleted, and the deletion is undone.
  await to('agent4')
  await press('Delete')
  await nodeOf(page, 'agent4').waitFor({state: 'detached'})
  await press('Control+z')
  await nodeOf(page, 'agent4').waitFor()
  await to('if')
  await press('Enter')
  await reach(page, inspector(page).getByLabel('Value of condition 1'))
  await page.keyboard.insertText('dear')
  await press('Control+s')
  await page.getByRole('status').filter({hasText: 'Stored as draft'}).first().waitFor()
  await enter(page.getByRole('button', {name: 'Publish'}))
  await page.getByRole('status').filter({hasText: 'Published v'}).first().waitFor()
  const two = await summaryOf(api, 'keyboard')
  check('the edges are drawn', two.edges === edges, two.edges)
  return ['keyboard', await runAndApprove(page, enter, api, origin, 'keyboard')]
}

// byWords writes expressions with the suggestions of the forms: with the keyboard, as one undo
// step, and on a phone.
async function byWords(page, api, origin) {
  const nodes = [
    {id: 's', type: 'start'},
    {id: 'first', type: 'set', data: {values: {total: 2}}},
    {id: 'second', type: 'set', data: {values: {double: '', more: ''}, if: 'true'}},
  ]
  const connections = [
    {source: 's', target: 'first'},
    {source: 'first', target: 'second'},
  ]
  await api('/workflows', {
    id: 'words',
    document: JSON.stringify({name: 'Words', inputs: {city: 'string'}, nodes, connections}),
  })
  await page.goto(`${origin}/workflows/words/edit`)
  await nodeOf(page, 'second').dblclick()
  const form = inspector(page)
  const box = form.getByLabel('value of double', {exact: false})
  const options = form.getByRole('listbox', {name: 'Values'}).getByRole('option')
  const said = () => options.evaluateAll(all => all.map(o => o.querySelector('code').textContent))
  await box.click()
  await page.keyboard.type('{{ $steps.')
  check(
    'what ran before is offered',
    (await said()).join() === '$steps.first.output,$steps.first.output.total',
    (await said()).join(),
  )
  check(
    'the list belongs to the field',
    (await box.getAttribute('aria-controls')) === (await form.getByRole('listbox').getAttribute('id')),
  )
  await page.keyboard.press('ArrowDown')
  const chosen = await options.nth(1).getAttribute('id')
  check(
    'the second is chosen',
    (await box.getAttribute('aria-activedescendant')) === chosen &&
      (await options.nth(1).getAttribute('aria-selected')) === 'true',
  )
  await page.keyboard.press('Enter')
  await until(
    'it is written, and closed',
    async () => (await box.inputValue()) === '{{ $steps.first.output.total }}',
    () => box.inputValue(),
  )
  check('nothing is offered any more', (await options.count()) === 0)
  // This is one step, unless the machine paused for two seconds between two keystrokes
  // (model.test.ts tests this rule).
  const step = async (button, want) => {
    for (let was = await box.inputValue(); was !== want; was = await box.inputValue()) {
      await page.getByRole('button', {name: button, exact: false}).click()
      await until(`${button} changes the field`, async () => (await box.inputValue()) !== was)
    }
  }
  await step('Undo', '')
  await step('Redo', '{{ $steps.first.output.total }}')
  const condition = form.getByRole('combobox', {name: 'If'})
  await condition.click()
  await page.keyboard.press('Control+a')
  await page.keyboard.type('$in')
  await page.keyboard.press('Escape')
  check('Escape closes the list, and no form', (await options.count()) === 0 && (await condition.isVisible()))
  await page.keyboard.type('put.')
  await page.keyboard.press('Tab')
  await until(
    'Tab writes what is chosen',
    async () => (await condition.inputValue()) === '$input.city',
    () => condition.inputValue(),
  )
  await page.setViewportSize({width: 390, height: 844})
  await form.getByRole('button', {name: 'Insert a value'}).nth(1).click()
  await options.filter({hasText: '$input.city'}).click()
  const width = await page.evaluate(() => document.documentElement.scrollWidth)
  check('the page is as wide as the phone', width <= 390, String(width))
  await publish(page) // the page may still show that the first version was published
  const data = async () => JSON.stringify(JSON.parse((await api('/workflows/words')).document).nodes[2].data)
  const want = JSON.stringify({
    values: {double: '{{ $steps.first.output.total }}', more: '{{ $input.city }}'},
    if: '$input.city',
  })
  await until('the document has the expressions', async () => (await data()) === want, data)
}

// withoutTimes removes the timestamps, which differ from run to run.
const withoutTimes = logs => JSON.stringify(logs.map(({timestamp: _timestamp, ...rest}) => rest))

// shownLogs returns the log of a run as the page shows it: the node, the type and the content of
// each line.
async function shownLogs(page, origin, run) {
  await page.goto(`${origin}/runs/${run}?tab=log`)
  await settled(page)
  const list = page.getByRole('list', {name: 'Log'})
  await list.getByRole('listitem').first().waitFor()
  return list.getByRole('listitem').evaluateAll(all => all.map(li => [...li.children].slice(1).map(e => e.textContent)))
}

// downloaded downloads the document of a workflow with the button of the page and returns it.
async function downloaded(page, origin, id) {
  await page.goto(`${origin}/workflows/${id}`)
  await settled(page)
  const file = page.waitForEvent('download')
  await page.getByRole('button', {name: 'Download'}).click()
  return readFileSync(await (await file).path(), 'utf8')
}

// sameLogs checks that the page, the command line, and a command-line run of the downloaded
// document show the same logs of a run.
async function sameLogs(page, api, {origin, program, home, scratch}, id, run) {
  const hocket = (folder, ...args) => {
    const env = {HOME: folder, HOCKET_HOME: folder, PATH: process.env.PATH}
    try {
      return execFileSync(program, args, {cwd: folder, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe']})
    } catch (err) {
      check(`${args[0]} waits for a person`, err.status === 3, String(err.stderr))
      return err.stdout
    }
  }
  const logs = (folder, which) => {
    const out = JSON.parse(hocket(folder, 'runs', 'show', which, '--logs', '--json'))
    return Array.isArray(out) ? out : out.logs
  }
  const there = logs(home, run)
  check('there are logs', there.length > 5, JSON.stringify(there))
  const lines = there.map(l => [l.nodeId, l.type, l.content])
  const shown = await shownLogs(page, origin, run)
  check(
    'the log of the page is that of the command line',
    JSON.stringify(shown) === JSON.stringify(lines),
    `${JSON.stringify(shown)}\n${JSON.stringify(lines)}`,
  )
  const folder = join(scratch, id)
  mkdirSync(folder)
  const file = await downloaded(page, origin, id)
  check('what is downloaded is what is published', file === (await api(`/workflows/${id}`)).document)
  writeFileSync(join(folder, 'drawn.json'), file)
  writeFileSync(join(folder, 'replies.yaml'), readFileSync(join(home, 'replies.yaml')))
  hocket(folder, 'run', 'drawn.json', '--replies', 'replies.yaml', 'an invitation')
  hocket(folder, 'resume', 'latest', '--approve', '--note', 'well done')
  check(
    'the logs are those of the downloaded document',
    withoutTimes(logs(folder, 'latest')) === withoutTimes(there),
    `${withoutTimes(logs(folder, 'latest'))}\n${withoutTimes(there)}`,
  )
}

export const spec = (browser, settings) =>
  withPages(browser, settings.origin, async ({open}) => {
    const {origin, token} = settings
    const api = caller(origin, token)
    const words = await open({})
    await signIn(words, origin, token)
    await byWords(words, api, origin)
    await words.context().close()
    for (const [play, colorScheme] of [
      [byMouse, 'light'],
      [byKeyboard, 'dark'],
    ]) {
      const page = await open({colorScheme})
      page.setDefaultTimeout(20_000)
      await signIn(page, origin, token)
      const [id, run] = await play(page, api, origin)
      await sameLogs(page, api, settings, id, run)
      await page.context().close()
    }
  })
