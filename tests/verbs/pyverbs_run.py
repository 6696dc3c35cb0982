"""
Runs the tests that come with Debian's python3-pyverbs, in the order of their names, and prints one
line for each: name, pass|skip|FAIL, and why. What went wrong goes to stderr.

usage: pyverbs_run.py FOLDER [OPTIONS OF THE TESTS]    FOLDER has tests/, with nothing compressed
"""
import importlib
import random
import sys
import unittest


class Lines(unittest.TestResult):
    def line(self, test, *words):
        print(test.id().replace('tests.', '', 1), *words, sep='\t', flush=True)

    def startTest(self, test):
        super().startTest(test)
        random.seed(1)  # the tests choose sizes and numbers at random

    def addSuccess(self, test):
        self.line(test, 'pass')

    def addSkip(self, test, reason):
        self.line(test, 'skip', ' '.join(reason.split()))

    def addFailure(self, test, err):
        self.line(test, 'FAIL', ' '.join(str(err[1]).split()))
        print(self._exc_info_to_string(err, test), file=sys.stderr)

    addError = addFailure


def give_address(tests):
    """They take a device's address from sysfs, where ours has no folder."""
    def get_ip_mac(self, dev, port, idx):
        self.args.append([dev, port, idx, '127.0.0.1', None])
    tests.base.RDMATestCase._get_ip_mac = get_ip_mac


def main():
    folder = sys.argv.pop(1)
    sys.path[:0] = [folder, folder + '/tests']
    tests = importlib.import_module('tests')
    importlib.import_module('args_parser').parser.parse_args()
    give_address(tests)
    unittest.defaultTestLoader.loadTestsFromModule(tests).run(Lines())


main()
