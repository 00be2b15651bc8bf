// Rounds documents are drawn: two agents that speak in turn, and a branch, with the mouse and with
// the keyboard alone. The rules of the reader reject edits with their reasons. Each graph is run.
import {readdirSync, readFileSync} from 'node:fs'
import {join} from 'node:path'
import {caller, check, ended, pick, reach, settled, signIn, until, withPages} from './lib.mjs'

const nodeOf = (page, id) => page.locator(`.react-flow__node[data-id="${id}"]`)
const handleOf = (page, id, handle) => nodeOf(page, id).locator(`.react-flow__handle[data-handleid="${handle}"]`)
const form = page => page.locator('[data-inspector]').first()
const at = (page, id) => page.waitForFunction(want => document.activeElement?.getAttribute('data-id') === want, id)

const refused = (page, reason) => page.getByRole('alert').filter({hasText: reason}).waitFor()

const middle = async l => {
  const b = await l.boundingBox()
  return [b.x + b.width / 2, b.y + b.height / 2]
}

const draw = async (page, from, to) => {
  await page.mouse.move(...(await middle(handleOf(page, from, 'output'))))
  await page.mouse.down()
  const [x, y] = await middle(handleOf(page, to, 'input'))
  await page.mouse.move(x + 30, y + 20, {steps: 3})
  await page.mouse.move(x, y, {steps: 3})
  await page.mouse.up()
}

const publish = async page => {
  await page.getByRole('status').filter({hasText: 'Published v'}).first().waitFor()
}

// shape returns a short summary of the stored document.
const shape = async (api, id) => {
  const doc = JSON.parse((await api(`/workflows/${id}`)).document)
  const edges = g => g.edges.map(e => `${e.from}-${e.to}`).join(' ')
  const nodes = g => g.nodes.map(n => `${n.id}:${n.config.agentId}`).join(' ')
  return {
    doc,
    main: `${nodes(doc)} | ${edges(doc)}`,
    branches: (doc.branches ?? []).map(b => `${b.id}: ${nodes(b)} | ${edges(b)}`),
  }
}

const mainGraph = 'agent:agent agent2:agent2 | agent-agent2 agent2-agent'

// checkStored checks that the drawing equals the stored document.
async function checkStored(api, id) {
  const {doc, main, branches} = await shape(api, id)
  check('the main graph is drawn', main === mainGraph, main)
  check('the branch is drawn', branches.join() === 'report: agent:agent3 | ', branches.join())
  check('the rounds are set', doc.maxRounds === 2, JSON.stringify(doc))
  check(
    'the branch has its schedule',
    doc.branches[0].executionMode === 'interval' && doc.branches[0].schedule === 'daily@09:00',
    JSON.stringify(doc.branches),
  )
  check(
    'the agents are in the document',
    doc.agents.map(a => a.id).join() === 'agent,agent2,agent3',
    JSON.stringify(doc.agents),
  )
}

// testRun starts a test run of the graph that is drawn, with the keyboard or the mouse, and waits
// for its end.
async function testRun(page, api, press, branch, steps) {
  const button = page.getByRole('button', {name: 'Test run'})
  await until('the document can run', () => button.isEnabled())
  const started = page.waitForResponse(r => r.url().endsWith('/api/v1/runs') && r.request().method() === 'POST')
  await press(button)
  await page.getByRole('dialog').getByLabel('Input').waitFor()
  await press(page.getByRole('dialog').getByLabel('Input'))
  await page.keyboard.insertText('a debate')
  await press(page.getByRole('dialog').getByRole('button', {name: 'Run'}))
  const {id} = await (await started).json()
  const line = (await api('/runs?label=hocket/test-run=true')).items.find(r => r.id === id)
  check('lists of runs tell that it is a test run', line !== undefined, id)
  const run = await ended(api, id)
  check('the run is completed', run.status === 'completed', JSON.stringify(run.error))
  check('it is a run of the graph that is drawn', (run.workflow.branch ?? '') === branch, JSON.stringify(run.workflow))
  check('it has the rounds that were drawn', run.steps.length === steps, JSON.stringify(run.steps.map(s => s.node)))
  await page.locator('.react-flow__node[data-id="agent"] [data-state="succeeded"]').waitFor()
  // The run is kept if another part is shown in between.
  await press(page.getByRole('tab', {name: 'Text'}))
  await page.locator('.cm-content').first().waitFor()
  // Tab moves the focus into the text, where it indents
  await press(page.getByRole('tab', {name: 'Canvas'}), 'Shift+Tab')
  await page.locator('.react-flow__node[data-id="agent"] [data-state="succeeded"]').waitFor()
  await page.getByRole('link', {name: 'test run'}).waitFor()
}

async function byMouse(page, api, origin) {
  await page.goto(`${origin}/workflows`)
  await settled(page)
  await page.getByRole('button', {name: 'Draw a workflow'}).click()
  await page.getByLabel('Name', {exact: true}).fill('Mouse rounds')
  await page.getByRole('radio', {name: 'Rounds'}).check()
  await page.getByRole('button', {name: 'Create the draft'}).click()
  // Two agents that speak in turn are drawn with a few clicks.
  await page.getByRole('button', {name: 'Add an agent'}).click()
  await nodeOf(page, 'agent').waitFor()
  await page.getByRole('list', {name: 'Kinds of nodes'}).getByRole('button', {name: 'Agent', exact: true}).click()
  await nodeOf(page, 'agent2').waitFor()
  await draw(page, 'agent', 'agent2')
  await until('the edge is drawn', async () => (await page.locator('.react-flow__edge').count()) === 1)
  await draw(page, 'agent2', 'agent')
  await refused(page, 'The cycle agent -> agent2 -> agent never ends: maxRounds must be a positive number.')
  await page.getByRole('button', {name: 'Set maxRounds to 10 and connect'}).click()
  await until('the cycle is drawn', async () => (await page.locator('.react-flow__edge').count()) === 2)
  await draw(page, 'agent', 'agent')
  await refused(page, 'Only the first edge that leaves "agent" is followed, and it leads to "agent2".')
  await page.getByRole('alert').getByRole('button', {name: 'Close'}).click()
  // A node cannot get the id of another one.
  const tip = page.getByText('Double-click a node, or choose it and press Enter, to open its form')
  await tip.waitFor()
  await nodeOf(page, 'agent2').dblclick()
  await tip.waitFor({state: 'detached'})
  await form(page).getByLabel('Agent id', {exact: true}).fill('agent')
  await page.keyboard.press('Enter')
  await refused(page, 'Node id "agent" is used twice.')
  await page.getByRole('alert').getByRole('button', {name: 'Close'}).click()
  await form(page).getByRole('button', {name: 'Close'}).click()
  // Fields that belong to no node are edited.
  await page.getByRole('button', {name: 'Document'}).click()
  await form(page).getByLabel('Max rounds').fill('2')
  // A branch gets its own schedule.
  await page.getByRole('button', {name: 'Branch', exact: true}).click()
  await page.getByLabel('Name of the branch').fill('Report')
  await page.getByRole('button', {name: 'Add the branch'}).click()
  await page.waitForURL(/branch=report/)
  await page.getByRole('button', {name: 'Add an agent'}).click()
  await nodeOf(page, 'agent').waitFor()
  await page.getByRole('button', {name: 'Branch settings'}).click()
  await form(page).getByLabel('Execution mode').selectOption('interval')
  await form(page).locator('[data-severity="error"]').filter({hasText: 'schedule'}).waitFor()
  await form(page).getByLabel('Schedule', {exact: true}).fill('daily@09:00')
  await form(page).locator('[data-severity="error"]').waitFor({state: 'detached'})
  await page.getByRole('button', {name: 'Publish'}).click()
  await publish(page)
  await checkStored(api, 'mouse-rounds')
  // A node of the branch is moved: its position is stored with the document, as one of the branch.
  const [x, y] = await middle(nodeOf(page, 'agent'))
  await page.mouse.move(x, y)
  await page.mouse.down()
  await page.mouse.move(x - 60, y + 10, {steps: 4})
  const stored = page.waitForResponse(
    r => r.url().endsWith('/workflows/mouse-rounds/layout') && r.request().method() === 'PUT' && r.ok(),
  )
  await page.mouse.up()
  await stored
  const places = await api('/workflows/mouse-rounds/layout')
  check('the place is one of the branch', places.branches.report.agent !== undefined, JSON.stringify(places))
  check('a move is no change to store', await page.getByRole('button', {name: 'Save draft'}).isDisabled())
  await testRun(page, api, l => l.click(), 'report', 1)
  await page.getByLabel('Graph that is drawn').selectOption('')
  await nodeOf(page, 'agent2').waitFor()
  await testRun(page, api, l => l.click(), '', 4)
}

async function byKeyboard(page, api, origin) {
  const press = async (...keys) => {
    for (const k of keys) await page.keyboard.press(k)
  }
  const enter = async l => {
    await reach(page, l)
    await press('Enter')
  }
  const dialog = page.getByRole('dialog')
  await page.goto(`${origin}/workflows`)
  await settled(page)
  await enter(page.getByRole('button', {name: 'Draw a workflow'}))
  await reach(page, dialog.getByLabel('Name', {exact: true}))
  await page.keyboard.insertText('Keyboard rounds')
  await reach(page, dialog.getByRole('radio', {name: 'Canvas'}))
  await press('ArrowDown', 'Enter')
  await page.getByText('Nothing is drawn yet').waitFor()
  // F6 moves the focus from part to part.
  await reach(page, page.locator('[data-drawing]'), 'F6')
  await press('a')
  await enter(dialog.getByRole('button', {name: 'New agent'}))
  await at(page, 'agent')
  await press('a')
  await enter(dialog.getByRole('button', {name: 'New agent'}))
  await at(page, 'agent2')
  await press('c')
  await enter(dialog.getByRole('button', {name: 'Agent (agent)', exact: false}))
  await refused(page, 'The cycle agent -> agent2 -> agent never ends: maxRounds must be a positive number.')
  await reach(page, page.getByRole('button', {name: 'Set maxRounds to 10 and connect'}), 'F6')
  await press('Enter')
  await at(page, 'agent2')
  // Arrow keys follow edges, and a node is found by its name.
  await press('ArrowUp')
  await at(page, 'agent')
  await press('/')
  await reach(page, dialog.getByLabel('Name, id or kind'))
  await page.keyboard.insertText('agent2')
  await press('Enter')
  await at(page, 'agent2')
  await press('s')
  await reach(page, form(page).getByLabel('Max rounds'))
  await press('Control+a')
  await page.keyboard.insertText('2')
  await reach(
    page,
    page.getByRole('button', {name: 'Nodes', exact: true}).or(page.getByRole('button', {name: 'Tidy'})),
    'F6',
  )
  await enter(page.getByRole('button', {name: 'Branch', exact: true}))
  await reach(page, dialog.getByLabel('Name of the branch'))
  await page.keyboard.insertText('Report')
  await press('Enter')
  await page.waitForURL(/branch=report/)
  await reach(page, page.locator('[data-drawing]'), 'F6')
  await press('a')
  await enter(dialog.getByRole('button', {name: 'New agent'}))
  await at(page, 'agent')
  await press('s')
  await pick(page, form(page).getByLabel('Execution mode'), 'interval')
  await reach(page, form(page).getByLabel('Schedule', {exact: true}))
  await page.keyboard.insertText('daily@09:00')
  await press('Control+s')
  await page.getByRole('status').filter({hasText: 'Stored as draft'}).first().waitFor()
  await reach(page, page.getByRole('button', {name: 'Publish'}), 'Shift+Tab')
  await press('Enter')
  await publish(page)
  await checkStored(api, 'keyboard-rounds')
  const go = async (l, key) => {
    await reach(page, l, key)
    if ((await l.evaluate(e => e.tagName)) !== 'TEXTAREA') await press('Enter')
  }
  await testRun(page, api, go, 'report', 1)
  await reach(page, page.getByLabel('Graph that is drawn'))
  await press('Home')
  await nodeOf(page, 'agent2').waitFor()
  await testRun(page, api, go, '', 4)
}

// refitted checks in a run that all nodes stay in view when the panel of a step opens and closes
// next to them, unless the user moved the view.
async function refitted(page, api, origin) {
  const {id} = (await api('/runs?label=hocket/test-run=true&limit=100')).items.find(r => !r.branch)
  await page.goto(`${origin}/runs/${id}`)
  await page.getByRole('heading', {level: 1}).waitFor()
  await page.getByTitle('A test run of the editor').waitFor()
  const nodes = page.locator('.react-flow__node')
  await nodes.first().waitFor()
  const width = async () => (await page.locator('.react-flow').boundingBox()).width
  const outside = async () => {
    const frame = await page.locator('.react-flow').boundingBox()
    const boxes = await Promise.all((await nodes.all()).map(n => n.boundingBox()))
    return boxes.filter(
      b =>
        b.x < frame.x ||
        b.y < frame.y ||
        b.x + b.width > frame.x + frame.width ||
        b.y + b.height > frame.y + frame.height,
    ).length
  }
  const wide = await width()
  await until('all is in view', async () => (await outside()) === 0)
  await page.locator('.react-flow__node[data-id="agent"]').click()
  await until('the panel is open', async () => (await width()) < wide)
  await until('all is in view beside the panel', async () => (await outside()) === 0)
  const at = () => page.locator('.react-flow__viewport').evaluate(e => e.style.transform)
  await page.getByRole('button', {name: 'Zoom In'}).click()
  const zoomed = await at()
  await page.getByRole('button', {name: 'Close the step'}).click()
  await until('the panel is closed', async () => (await width()) === wide)
  check('a view that was moved stays', (await at()) === zoomed, `${zoomed} became ${await at()}`)
}

// unchanged opens each rounds document of the examples, and each graph of it, tidies, moves and
// deletes nodes, and undoes everything: no version is created, and no byte changes.
async function unchanged(page, api, origin) {
  const folder = new URL('../../examples/', import.meta.url).pathname
  const files = readdirSync(folder, {recursive: true}).filter(f => f.endsWith('.json'))
  let seen = 0
  for (const file of files) {
    const document = readFileSync(join(folder, file), 'utf8')
    if ((await api('/documents/compile', {document})).format !== 'rounds') continue
    const id = `rounds${seen++}`
    await api('/workflows', {id, document, draft: true})
    const {nodes = [], branches = []} = JSON.parse(document)
    for (const branch of [...(nodes.length > 0 ? [''] : []), ...branches.map(b => b.id)]) {
      await page.goto(`${origin}/workflows/${id}/edit${branch ? `?branch=${branch}` : ''}`)
      await page.locator('.react-flow__node').first().waitFor()
      await page.getByRole('button', {name: 'Tidy'}).click()
      await reach(page, page.locator('.react-flow__node').first(), 'F6')
      await page.keyboard.press('Alt+ArrowRight')
      await page.keyboard.press('Delete')
      await page.getByText('changes not stored').waitFor()
      for (let i = 0; i < 3; i++) await page.keyboard.press('Control+z')
      await page.getByText('changes not stored').waitFor({state: 'detached'})
      await page.keyboard.press('Control+s')
      await page.getByRole('status').filter({hasText: 'There is no change to store.'}).first().waitFor()
    }
    const now = await api(`/workflows/${id}?draft=true`)
    check(`${file} is as it was`, now.document === document && now.versions.length === 1, JSON.stringify(now.versions))
  }
  check('there are rounds documents among the examples', seen > 1, String(seen))
}

export const spec = (browser, settings) =>
  withPages(browser, settings.origin, async ({open}) => {
    const {origin, token} = settings
    const api = caller(origin, token)
    for (const [play, colorScheme] of [
      [byMouse, 'light'],
      [byKeyboard, 'dark'],
      [refitted, 'light'],
      [unchanged, 'light'],
    ]) {
      const page = await open({colorScheme})
      page.setDefaultTimeout(60_000)
      await signIn(page, origin, token)
      await play(page, api, origin)
      await page.context().close()
    }
  })
