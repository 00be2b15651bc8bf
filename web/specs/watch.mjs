// This spec covers the graph with heat, scrubbing, iterations side by side, attempts, map
// items, child runs, the conversation, search, and the comparison of two runs.
import {caller, check, ended, settled, signIn, withPages} from './lib.mjs'

const letter = `agents:
  writer:
    model: openai/m
    instruction: Write a letter.
    toolsets: [{type: think}]
  critic:
    model: openai/m
    instruction: Judge it.
    structured_output: {name: verdict, schema: {type: object, required: [good], properties: {good: {type: boolean}}}}
workflow:
  max_loop_iterations: 3
  steps:
    - {id: draft, type: agent, name: writer}
    - {id: judge, type: agent, name: critic}
    - {id: check, type: condition, condition: "{{ $steps.judge.output.good }}", "false": draft}
    - {type: end, output: "{{ $steps.draft.output }}"}
`
const items = 2000
const map = `workflow:
  - {id: list, type: set, values: {items: "{{ $input.json() }}"}}
  - id: each
    type: map
    over: "{{ $steps.list.output.items }}"
    steps:
      - {id: line, type: set, values: {no: "{{ $item_index + 1 }}"}}
  - {type: end, output: "{{ size($steps.each.output) }}"}
`
const parent = `workflow:
  - {id: below, type: workflow, workflow: letter, input: "{{ $input }}"}
  - {type: end, output: "{{ $steps.below.output }}"}
`

export const spec = (browser, {origin, token}) =>
  withPages(browser, origin, async ({open}) => {
    const api = caller(origin, token)
    const start = async (document, name, input) =>
      ended(api, (await api('/runs', {document, format: 'steps', name, input})).id)
    await api('/workflows/letter', {document: letter}, 'PUT')
    const first = await start(letter, 'letter', 'Invite Ada')
    check('the run completed', first.status === 'completed', JSON.stringify(first.error))
    const second = await start(letter, 'letter', 'Invite Bob')
    const page = await open()
    await signIn(page, origin, token)
    const at = async path => {
      await page.goto(origin + path)
      await settled(page)
    }

    // The graph is drawn where the server places it, with heat; a step opens from its box.
    await at(`/runs/${first.id}`)
    await page.locator('.react-flow__node').nth(3).waitFor()
    await page.getByLabel('Heat').selectOption('tokens')
    await page.getByRole('group', {name: /^draft, agent, completed/}).click()
    const panel = page.getByRole('region', {name: /^Step \d+/})
    await panel.waitFor()
    check('heat and step are in the address', /heat=tokens/.test(page.url()) && /step=\d/.test(page.url()), page.url())

    // Iterations are shown side by side, with their differences.
    await panel.getByRole('button', {name: /^Compare with 1/}).click()
    await panel.getByRole('group', {name: 'What was given'}).locator('ins').first().waitFor()
    check('the iteration is in the address', /iter=1/.test(page.url()), page.url())
    await page.reload()
    await panel.getByRole('button', {name: 'End the comparison'}).click()

    // Scrubbing shows the run as it was, also after a reload; keys move by one event.
    const journal = page.getByRole('group', {name: 'Position in the journal'})
    await page.getByRole('slider', {name: 'Event'}).fill('4')
    await journal.getByText(/step\.started · draft/).waitFor()
    await page.locator('main').getByText('running', {exact: true}).first().waitFor()
    check('the position is in the address', /at=4/.test(page.url()), page.url())
    await page.reload()
    await journal.getByText(/step\.started · draft/).waitFor()
    await page.locator('main h1').click()
    await page.keyboard.press('.')
    await journal.getByText(/model\.called/).waitFor()
    await journal.getByRole('button', {name: 'To the end'}).click()
    await page.locator('main').getByText('completed', {exact: true}).first().waitFor()

    // The conversation shows tool calls collapsed.
    await at(`/runs/${first.id}?tab=conversation`)
    const said = page.getByRole('list', {name: 'Conversation'})
    await said.getByText('Dear Ada, do come on Sunday.', {exact: true}).first().waitFor()
    check('tool calls are folded', !(await said.getByRole('region', {name: 'the arguments'}).first().isVisible()))
    await said.getByText('think', {exact: true}).first().click()
    await said.getByRole('region', {name: 'the arguments'}).first().waitFor()

    // Search covers the whole run.
    await page.locator('main h1').click()
    await page.keyboard.press('/')
    await page.keyboard.type('come on sunday')
    await page.getByRole('list', {name: 'Hits'}).locator('mark').first().waitFor()
    await page.keyboard.press('Enter')
    await panel.waitFor()
    await page
      .getByRole('status')
      .getByText(/^1 of \d/)
      .waitFor()
    await page.keyboard.press('Enter')
    await page
      .getByRole('status')
      .getByText(/^2 of \d/)
      .waitFor()
    await page.waitForURL(/q=come/)
    check('the hit is open', /step=\d/.test(page.url()), page.url())

    // Two runs are shown side by side.
    await at(`/runs/${first.id}`)
    await page.getByRole('button', {name: 'Compare…'}).click()
    await page.getByRole('dialog').getByRole('link', {name: 'Invite Bob'}).click()
    await page.getByRole('heading', {name: 'Compare two runs'}).waitFor()
    await page.getByText('The first difference is at').waitFor()
    await page.getByRole('button', {name: 'Show it'}).click()
    await page.getByRole('group', {name: 'What was given'}).locator('del', {hasText: 'Bob'}).waitFor()
    check(
      'both runs are in the address',
      page.url().includes(`/runs/${second.id}/compare/${first.id}?row=`),
      page.url(),
    )

    // A child run is a box that opens.
    const above = await start(parent, 'parent', 'Invite Ada')
    await at(`/runs/${above.id}?step=1`)
    await panel.getByText('Child runs').waitFor()
    await panel.getByText('Its steps').click()
    await panel.getByRole('link', {name: 'judge'}).first().click()
    await page.getByText('started by').waitFor()

    // With thousands of items, few rows are created, and the page stays usable.
    const many = await start(map, 'map', JSON.stringify(Array.from({length: items}, (_, i) => i)))
    check(
      'the map completed',
      many.output === items || many.output === String(items),
      JSON.stringify(many.error ?? many.output),
    )
    await at(`/runs/${many.id}?tab=steps&step=2`)
    const list = page.getByRole('region', {name: 'Items', exact: true})
    await list.getByText('item 1', {exact: true}).waitFor()
    await page.getByText(`${items} of ${items}`, {exact: true}).waitFor()
    check('few rows are made', (await list.locator('li').count()) < 60)
    await list.evaluate(e => {
      e.scrollTop = e.scrollHeight
    })
    await list.getByText(`item ${items}`, {exact: true}).click()
    await panel.getByText(`item ${items} of its map`).waitFor()
    await at(`/runs/${many.id}?tab=timeline`)
    check('bars are put together', (await page.getByRole('button', {name: /steps close to each other/}).count()) > 0)
  })
