// Each dialog of the page takes what a user types, and the focus returns to where it was when the
// dialog closes. The spec only types and presses keys.
import {readdirSync, readFileSync} from 'node:fs'
import {caller, check, reach, settled, signIn, until, withPages} from './lib.mjs'

const written = `agents:
  writer: {model: openai/m, instruction: Write a letter.}
workflow:
  - {id: write, type: agent, name: writer}
`
const waits = `workflow:
  - {id: ok, type: approval, prompt: Send it?}
`
const fails = `workflow:
  - {type: end, status: failed, message: it is so}
`
const canvas = JSON.stringify({
  nodes: [
    {id: 's', type: 'start'},
    {id: 'v', type: 'set', data: {title: 'Values', values: {}}},
  ],
  connections: [],
})
const rounds = JSON.stringify({
  maxRounds: 1,
  agents: [{id: 'a', model: 'openai/m', systemPrompt: 'Speak.'}],
  nodes: [{id: 'n', type: 'agent', config: {agentId: 'a'}}],
  edges: [],
})

const button = name => page => page.getByRole('button', {name, exact: true}).first()
const node = page => page.locator('.react-flow__node[data-id="s"]')

// dialogsOf returns the dialogs: the source that has it, the page, the title, what opens it (an
// element and a key), and what has the focus then: the label of a field, {name} of a button or
// link, or the dialog itself if nothing is to be typed or chosen.
const dialogsOf = ({open, broken, done, gone}) => [
  ['shell/Palette.tsx', '/runs', 'Search or go to', button(/^Search or go to/), 'Enter', 'Search or go to'],
  ['shell/Help.tsx', '/runs', 'Keyboard', button('Keyboard help'), 'Enter', null],
  ['pages/NewWorkflow.tsx', '/workflows', 'New workflow', button('New from text'), 'Enter', /^Document/],
  ['canvas/NewCanvas.tsx', '/workflows', 'Draw a workflow', button('Draw a workflow'), 'Enter', /^Name/],
  ['pages/Unstored.tsx', '/workflows', 'Discard the text?', button('Discard'), 'Enter', null],
  ['pages/WorkflowActions.tsx', '/workflows/text', 'Convert into another format', button('Convert'), 'Enter', 'Format'],
  ['pages/WorkflowActions.tsx', '/workflows/text', 'Delete the workflow?', button('Delete'), 'Enter', null],
  ['canvas/Choose.tsx', '/workflows/drawn/edit', 'Go to a node', node, '/', /^Name, id or kind/],
  ['canvas/Choose.tsx', '/workflows/drawn/edit', /^Connect /, node, 'c', {name: /Values/}],
  ['canvas/Choose.tsx', '/workflows/drawn/edit', /^Add behind /, node, 'a', {name: /^Agent/}],
  ['canvas/TestRun.tsx', '/workflows/drawn/edit', 'Test run', button('Test run'), 'Enter', 'Input'],
  ['canvas/GraphTools.tsx', '/workflows/turns/edit', 'Add a branch', button('Branch'), 'Enter', /^Name of the branch/],
  ['run/CompareWith.tsx', `/runs/${open}`, 'Compare with', button('Compare…'), 'Enter', {name: 'Dear Bob'}],
  ['run/CopyAs.tsx', `/runs/${open}`, 'Copy as', button('Copy as…'), 'Enter', null],
  ['run/Actions.tsx', `/runs/${open}`, 'Cancel the run?', button('Cancel'), 'Enter', /^Reason/],
  ['run/Actions.tsx', `/runs/${broken}`, 'Continue as a new run', button('Continue'), 'Enter', 'From'],
  ['run/Actions.tsx', `/runs/${broken}`, 'Delete the run?', button('Delete'), 'Enter', null],
  ['run/Actions.tsx', `/runs/${gone}`, 'Run again', button('Run again'), 'Enter', null],
  ['run/EventsTab.tsx', `/runs/${done}?tab=events`, /^Event 1/, button(/run\.created/), 'Enter', null],
  ['run/Request.tsx', `/runs/${done}?tab=steps&step=1`, 'Request as sent', button('Request as sent…'), 'Enter', null],
  [
    'edit/Editor.tsx',
    '/workflows/text/edit',
    'Leave without storing?',
    page => page.getByRole('link', {name: 'Runs', exact: true}),
    'Enter',
    {name: 'Stay'},
  ],
]

// titled returns the number of dialogs of each source.
function titled() {
  const src = new URL('../src/', import.meta.url)
  const files = readdirSync(src, {recursive: true}).filter(f => f.endsWith('.tsx'))
  const numbers = files.map(f => [f, readFileSync(new URL(f, src), 'utf8').match(/<Dialog\b/g)?.length ?? 0])
  return Object.fromEntries(numbers.filter(([, n]) => n > 0))
}

const hasFocus = locator => locator.evaluate(e => e === document.activeElement)
const focused = page =>
  page.evaluate(() => document.activeElement?.outerHTML.replace(/<svg.*?<.svg>/gs, '').slice(0, 300))
const focusOn = (page, what, locator) =>
  until(
    what,
    () => hasFocus(locator),
    () => focused(page),
  )

// checkDialog opens a dialog with the keyboard, types, and closes it.
async function checkDialog(page, [, , title, opener, key, want]) {
  const from = opener(page)
  await reach(page, from)
  await page.keyboard.press(key)
  const dialog = page.getByRole('dialog', {name: title})
  await dialog.waitFor()
  if (want === null) {
    await focusOn(page, `${title} has the focus`, dialog)
    await page.keyboard.press('Enter')
    check(`Enter does nothing in ${title}`, await dialog.isVisible())
  } else if (want.name) {
    await focusOn(
      page,
      `a choice of ${title} has the focus`,
      dialog.getByRole('button', want).or(dialog.getByRole('link', want)).first(),
    )
  } else {
    const field = dialog.getByLabel(want).and(dialog.locator('input, textarea, select'))
    await focusOn(page, `${title} takes the focus to its field`, field)
    if (await field.evaluate(e => e.localName !== 'select')) {
      await page.keyboard.type('abc')
      check(`${title} takes what is typed`, (await field.inputValue()).endsWith('abc'), await field.inputValue())
    }
  }
  await page.keyboard.press('Escape')
  await dialog.waitFor({state: 'detached'})
  await focusOn(page, `the focus returns from ${title}`, from)
}

export const spec = (browser, {origin, token}) =>
  withPages(browser, origin, async ({open, tab, allow}) => {
    allow(/status of 4(04|22)/) // the workflow that is deleted, and the document with errors
    const api = caller(origin, token)
    await api('/workflows', {id: 'text', document: written})
    await api('/workflows', {id: 'drawn', document: canvas})
    await api('/workflows', {id: 'turns', document: rounds, format: 'rounds'})
    await api('/workflows', {id: 'gone', document: 'workflow: [{type: end, output: it}]'})
    const start = async body => (await api('/runs?wait=20s', body)).id
    const runs = {
      other: await start({document: waits, format: 'steps', name: 'letter', input: 'Dear Bob'}),
      open: await start({document: waits, format: 'steps', name: 'letter', input: 'Dear Ada'}),
      broken: await start({document: fails, format: 'steps', name: 'broken'}),
      done: await start({workflow: 'text', input: 'Dear Ada'}),
      gone: await start({workflow: 'gone'}),
    }
    await api('/workflows/gone', undefined, 'DELETE')
    let page = await open()
    await signIn(page, origin, token)
    const go = async path => {
      await page.goto(origin + path)
      await settled(page)
    }

    // A text with errors is kept by the browser alone.
    await go('/workflows')
    await reach(page, button('New from text')(page))
    await page.keyboard.press('Enter')
    await reach(page, page.getByRole('textbox', {name: /^Document/}))
    await page.keyboard.type('workflow: [{type: none}]')
    await reach(page, page.getByRole('textbox', {name: /^Id/}))
    await page.keyboard.type('begun')
    await page.keyboard.press('Enter')
    await reach(page, button('Continue in the editor')(page))
    await page.keyboard.press('Enter')
    await page.waitForURL(`${origin}/workflows/begun/edit`)

    const dialogs = dialogsOf(runs)
    const numbers = {}
    for (const [source] of dialogs) numbers[source] = (numbers[source] ?? 0) + 1
    const sorted = o => JSON.stringify(Object.entries(o).sort())
    check('each dialog of the source is opened', sorted(numbers) === sorted(titled()), sorted(titled()))
    let at = ''
    const wrong = []
    for (const dialog of dialogs) {
      if (dialog[1] !== at || wrong.length > 0) await go(dialog[1])
      at = dialog[1]
      if (dialog[0] === 'edit/Editor.tsx') {
        await reach(page, page.getByRole('textbox', {name: 'Document', exact: true}))
        await page.keyboard.type('# chan')
        await page.keyboard.press('Control+k')
        await page.getByRole('dialog').waitFor()
        await page.keyboard.press('Escape')
        await page.getByRole('dialog').waitFor({state: 'detached'})
        await page.keyboard.type('ged')
        check(
          'the text takes what is typed again',
          (await page.locator('.cm-line').first().innerText()).startsWith('# changed'),
        )
        for (let i = 0; i < 2; i++) await page.keyboard.press('Escape') // the first one may close a list
      }
      await checkDialog(page, dialog).catch(err => wrong.push(err.message))
    }
    check('each dialog takes the focus and returns it', wrong.length === 0, `\n${wrong.join('\n')}`)

    page = await tab(page) // the other one would ask before it leaves the changed text

    // A dialog above another one returns the focus to it.
    await go('/workflows')
    await reach(page, button('Draw a workflow')(page))
    await page.keyboard.press('Enter')
    await page.keyboard.type('Two')
    await page.keyboard.press('Control+k')
    await page.keyboard.type('zzz')
    await page.getByText('No results').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog', {name: 'Search or go to'}).waitFor({state: 'detached'})
    await page.keyboard.type(' words')
    const name = await page.getByRole('textbox', {name: /^Name/}).inputValue()
    check('the field takes what is typed again', name === 'Two words', name)

    // Where the dialog leads to another page, what opened it is gone.
    await go(`/runs/${runs.broken}`)
    await reach(page, button('Delete')(page))
    await page.keyboard.press('Enter')
    await reach(page, page.getByRole('button', {name: 'Delete the run', exact: true}))
    await page.keyboard.press('Enter')
    await page.waitForURL(`${origin}/runs`)
    await focusOn(page, 'the page has the focus after a deletion', page.getByRole('main'))
    await page.keyboard.press('Control+k')
    await page.keyboard.type('schedules')
    await page.keyboard.press('Enter')
    await page.waitForURL(`${origin}/schedules`)
  })
