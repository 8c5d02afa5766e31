// Looks at a page at a width, as a person would with mouse and keyboard, and writes what is
// wrong with it into the document. PAGE and WIDTH are put before it.
const frame = document.createElement("iframe");
frame.width = WIDTH;
frame.height = 3000;
frame.srcdoc = PAGE;
const wrong = [];
const check = (ok, what) => { if (!ok) wrong.push(what); };
const polygons = new Set(); // the timelines of these that are drawn
let compared = 0; // layouts with the state of the slider
const look = (when) => {
  const page = frame.contentDocument, root = page.documentElement;
  check(root.scrollWidth <= WIDTH, when + ": the page is " + root.scrollWidth + " pixels wide");
  for (const cell of page.querySelectorAll("td")) {
    if (!cell.offsetParent) continue; // hidden
    const box = cell.getBoundingClientRect();
    if (box.right > WIDTH + 1 || box.width < 1) { wrong.push(when + ": a cell is cut off: " + cell.textContent.slice(0, 40)); break; }
  }
};
const use = () => {
  const page = frame.contentDocument, view = frame.contentWindow;
  // Animation frames are drawn when flush is called.
  let frames = [];
  view.requestAnimationFrame = (f) => frames.push(f);
  const flush = () => { const now = frames; frames = []; now.forEach((f) => f()); };
  const pick = page.querySelector("#reports"); // every report is shown once
  view.addEventListener("error", (event) => wrong.push("error: " + event.message));
  check(page.querySelectorAll("#report section").length >= 5, "sections are missing");
  for (const id of ["timeline", "map"]) check(page.getElementById(id).querySelector("canvas").height > 50, id + " is not drawn");
  check(page.querySelectorAll("#holders tbody tr").length > 0, "nobody holds memory");
  for (const id of ["allocations", "segments-time", "host"]) {
    const single = page.getElementById(id);
    if (page.getElementById(id + "-section").hidden || single.hidden) continue;
    polygons.add(id);
    check(single.querySelector("canvas").height > 50, id + " is not drawn");
    single.dispatchEvent(new view.KeyboardEvent("keydown", { key: "End", bubbles: true }));
    check(/bytes\)/.test(single.getAttribute("aria-valuetext")) && !page.getElementById(id + "-detail").hidden, "the last of " + id + " is not told: " + single.getAttribute("aria-valuetext"));
    page.querySelector("#" + id + "-zoom button").click();
  }
  if (PAGE.includes('"host":{')) check(polygons.has("host"), "pinned host memory is not drawn");
  if (/"segmentsOverTime":{"entries":[1-9]/.test(PAGE) && !pick) check(polygons.has("segments-time"), "segments are not drawn over time");
  look("at first");
  check(!/\[object |undefined/.test(page.getElementById("main").innerText), "something that is no text is shown");
  if (page.querySelector("#export .export code")) {
    const best = page.querySelectorAll("#whatif tr.best");
    check(best.length === 1 && best[0].textContent.includes("best"), best.length + " settings are marked as the best");
    check(!best[0]?.querySelector(".bad"), "the best settings are marked as bad");
    const cells = [...(best[0]?.querySelectorAll("td") || [])].slice(1, 6).map((c) => c.textContent.startsWith("~"));
    check(cells.every((about) => about === cells[0]), "some statistics of the best settings have a ~, and some do not");
    const commands = [...page.querySelectorAll("#export code")].map((c) => c.textContent), asks = /"askLimit":"[^"]/.test(PAGE) && !pick;
    check(/^export /.test(commands.at(-1)) && page.querySelectorAll("#export button").length === commands.length, "no command for the settings: " + commands);
    if (asks) check(/ --limit LIMITGiB$/.test(commands[0]), "nobody asks for the limit first: " + commands);
  }
  const entry = page.getElementById("entry");
  if (!page.getElementById("entry-label").hidden) {
    for (const button of page.querySelectorAll("#layouts button")) {
      if (/end/.test(button.textContent)) continue; // the snapshot is taken after the last entry
      const told = () => page.getElementById("layout-summary").textContent.replace(/\(.*?\)/, "") + page.getElementById("pools").textContent + page.getElementById("segments").textContent;
      button.click();
      const want = told(), at = entry.value;
      entry.value = entry.max; for (const type of ["input", "change"]) { entry.dispatchEvent(new view.Event(type)); flush(); }
      if (at !== entry.max) check(told() !== want, "the slider changes nothing");
      entry.value = at; for (const type of ["input", "change"]) { entry.dispatchEvent(new view.Event(type)); flush(); }
      if (!/smaller|drawn together/.test(want)) { compared++; check(told() === want, button.textContent + ", and after entry " + at + ": " + want + " / " + told()); }
    }
  }
  if (!pick) check(compared > 0, "no state of the slider was compared");
  const across = page.getElementById("main"), changes = across.querySelectorAll('[aria-label="Call sites"] tbody tr td:nth-child(2)');
  if (across.textContent.includes("ran out of memory (") && across.textContent.includes("did not")) check(!across.querySelector(".change:not(.neutral)"), "changes are judged though one of the two ended early");
  if (across.textContent.includes("What the worst rank has more")) check([...changes].every((c) => c.textContent.startsWith("+")), "the worst rank has less of something");
  const box = page.getElementById("timeline"), bounds = box.getBoundingClientRect();
  box.setPointerCapture = () => {};
  const mouse = (type, x) => box.dispatchEvent(new view.PointerEvent(type, { clientX: bounds.left + x, clientY: bounds.top + 120, button: 0, bubbles: true, pointerId: 1 }));
  mouse("pointermove", WIDTH / 2);
  check(box.querySelector(".tip").textContent.includes("allocated: "), "no tip");
  const before = Number(box.getAttribute("aria-valuenow"));
  mouse("pointerdown", WIDTH / 2); mouse("pointermove", WIDTH / 2 + 20); mouse("pointermove", WIDTH / 2 + 60); mouse("pointerup", WIDTH / 2 + 60);
  mouse("pointermove", 100);
  const left = Number(box.getAttribute("aria-valuenow")); // the left edge is now where the middle was
  check(left > 0.9 * before && left < 1.2 * before, "dragging does not zoom: " + before + ", then " + left);
  mouse("pointerdown", 150); mouse("pointerup", 150);
  check([...page.querySelectorAll("#holders-when button")].some((b) => b.getAttribute("aria-pressed") === "true" && b.textContent.includes("chosen")), "a click chooses no time");
  for (const id of ["timeline", "map"]) {
    const target = page.getElementById(id);
    for (const key of ["+", "ArrowRight", "End", "-", "Home", "PageDown", "ArrowDown", "0", "Enter"]) target.dispatchEvent(new view.KeyboardEvent("keydown", { key, bubbles: true }));
    check(target.getAttribute("aria-valuetext"), id + " does not describe itself");
  }
  if (pick) for (let i = 0; i < pick.children.length; i++) { pick.children[i].click(); check(page.getElementById("statistics").children.length > 0, "report " + i + " is not shown"); }
  for (let i = 0, all; i < (all = page.querySelectorAll("button")).length && i < 100; i++) all[i].click();
  flush();
  for (const details of page.querySelectorAll("details")) details.open = true;
};
frame.onload = () => setTimeout(() => {
  try {
    use();
    setTimeout(() => { look("after use"); check(window.stolen === undefined, "a name of the file has run as a script"); document.body.textContent = "LOOKED AT: " + (wrong.join("; ") || "nothing is wrong") + "."; }, 500);
  } catch (error) { document.body.textContent = "LOOKED AT: " + error.stack + "."; }
}, 500);
document.body.append(frame);
