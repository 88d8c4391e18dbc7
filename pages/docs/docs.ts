import { addCopyButtons, addMenu, addTabs, addThemeButton, followReading } from './reading.ts';
import { addSearch } from './search.ts';
import { addTryIt } from './try-it.ts';

addTabs();
addCopyButtons(document);
addThemeButton();
addMenu();
addSearch();
addTryIt();
followReading();
